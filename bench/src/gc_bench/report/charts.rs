//! Pictures of a report, as SVG: drawn by plotters, sized for a phone, in colours that a page can change.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;

use plotters::coord::types::RangedCoordf64;
use plotters::coord::{Shift, ranged1d::ValueFormatter};
use plotters::prelude::*;

pub type Drawn = Result<String, Box<dyn Error>>;

/// A line of bars that follow each other, with an interval around its end.
pub struct Bar {
    pub label: String,
    /// Lengths and places in the palette.
    pub parts: Vec<(f64, usize)>,
    pub interval: Option<(f64, f64)>,
    /// The text behind it.
    pub text: String,
}

pub struct Line {
    pub label: String,
    /// A place in the palette.
    pub color: usize,
    pub points: Vec<(f64, f64)>,
}

/// Points of one colour.
pub struct Cloud {
    pub label: String,
    /// A place in the palette.
    pub color: usize,
    pub points: Vec<(f64, f64)>,
}

/// Axes of lines and clouds.
pub struct Axes {
    pub x: &'static str,
    pub y: &'static str,
    /// Whether a tenth of an x is at the same distance as ten times x.
    pub logarithmic: bool,
    /// Whether ys are exponents of ten.
    pub y_exponents: bool,
    pub x_range: (f64, f64),
    pub y_range: (f64, f64),
}

/// Bars below each other, from 0 on.
pub fn bars(bars: &[Bar], unit: &str) -> Drawn {
    let length = |bar: &Bar| {
        let sum: f64 = bar.parts.iter().map(|(length, _)| length).sum();
        sum.max(bar.interval.map_or(0.0, |(_, high)| high))
    };
    let longest = bars.iter().map(length).fold(0.0, f64::max);
    let characters = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0) as u32;
    let label_width = (characters * CHARACTER_WIDTH + 8).min(LABEL_WIDTH_MAX);
    let height = 46 + BAR_HEIGHT * bars.len() as u32;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        // A third is left for what stands behind the bars.
        let end = if longest > 0.0 { longest * 1.32 } else { 1.0 };
        let mut chart = ChartBuilder::on(&root)
            .set_label_area_size(LabelAreaPosition::Left, label_width)
            .set_label_area_size(LabelAreaPosition::Bottom, 40)
            .margin_top(2)
            .margin_right(8)
            .build_cartesian_2d(0.0..end, bars.len() as f64..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(4)
            .x_desc(unit)
            .x_label_formatter(&|x| short(*x))
            .axis_style(GRID)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(text(TEXT))
            .draw()?;
        for (at, bar) in bars.iter().enumerate() {
            let y = at as f64;
            let mut x = 0.0;
            for (length, color) in &bar.parts {
                let corners = [(x, y + 0.18), (x + length, y + 0.82)];
                chart.draw_series([Rectangle::new(corners, palette(*color).filled())])?;
                x += length;
            }
            if let Some((low, high)) = bar.interval {
                let paths = [
                    vec![(low, y + 0.5), (high, y + 0.5)],
                    vec![(low, y + 0.36), (low, y + 0.64)],
                    vec![(high, y + 0.36), (high, y + 0.64)],
                ];
                let path = |points: Vec<(f64, f64)>| PathElement::new(points, INK.stroke_width(1));
                chart.draw_series(paths.into_iter().map(path))?;
            }
            let behind = x.max(bar.interval.map_or(0.0, |(_, high)| high));
            let (pixel_x, pixel_y) = chart.backend_coord(&(behind, y + 0.5));
            root.draw_text(&bar.text, &text(TEXT), (pixel_x + 5, pixel_y - 8))?;
            root.draw_text(&bar.label, &text(TEXT), (2, pixel_y - 8))?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Lines with a legend above them.
pub fn lines(lines: &[Line], axes: &Axes) -> Drawn {
    let characters = lines.iter().map(|line| line.label.chars().count()).max().unwrap_or(0);
    let columns = if characters > LEGEND_CHARACTERS_MAX { 1 } else { 2 };
    let legend_rows = lines.len().div_ceil(columns) as u32;
    let mut svg = String::new();
    {
        let height = 240 + LEGEND_HEIGHT * legend_rows;
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let (legend, plot) = root.split_vertically(LEGEND_HEIGHT * legend_rows);
        for (at, line) in lines.iter().enumerate() {
            let x = ((at % columns) as u32 * WIDTH / columns as u32) as i32;
            let y = (at / columns) as i32 * LEGEND_HEIGHT as i32;
            draw_legend(&legend, (x, y), &line.label, line.color)?;
        }
        let (low, high) = axes.x_range;
        if axes.logarithmic {
            draw_lines(&plot, lines, axes, (low..high).log_scale())?;
        } else {
            draw_lines::<RangedCoordf64>(&plot, lines, axes, low..high)?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Points with a legend above them. Each is a stroke of one path, since thousands of elements would make a page slow.
pub fn clouds(clouds: &[Cloud], axes: &Axes) -> Drawn {
    let mut svg = String::new();
    let mut paths = String::new();
    {
        let root =
            SVGBackend::with_string(&mut svg, (WIDTH, 240 + LEGEND_HEIGHT)).into_drawing_area();
        let (legend, plot) = root.split_vertically(LEGEND_HEIGHT);
        let ((low, high), (bottom, top)) = (axes.x_range, axes.y_range);
        let mut chart = framed(&plot).build_cartesian_2d(low..high, bottom..top)?;
        mesh(&mut chart, axes)?;
        for (at, cloud) in clouds.iter().enumerate() {
            let x = (at as u32 * WIDTH / clouds.len() as u32) as i32;
            draw_legend(&legend, (x, 0), &cloud.label, cloud.color)?;
            let places: BTreeSet<(i32, i32)> =
                cloud.points.iter().map(|point| chart.backend_coord(point)).collect();
            let _ = write!(paths, "<path fill=\"none\" stroke=\"{}\" ", hex(palette(cloud.color)));
            paths += "stroke-width=\"2\" d=\"";
            for (x, y) in places {
                let _ = write!(paths, "M{x} {y}h2");
            }
            paths += "\"/>\n";
        }
        root.present()?;
    }
    let end = svg.rfind("</svg>").ok_or("a picture without an end")?;
    svg.insert_str(end, &paths);
    Ok(svg)
}

fn framed<'a, 'b>(
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder
        .set_label_area_size(LabelAreaPosition::Left, 64)
        .set_label_area_size(LabelAreaPosition::Bottom, 42)
        .margin_top(6)
        .margin_right(14);
    builder
}

fn draw_legend(
    area: &DrawingArea<SVGBackend, Shift>,
    (x, y): (i32, i32),
    label: &str,
    color: usize,
) -> Result<(), Box<dyn Error>> {
    let corners = [(x + 2, y + 5), (x + 14, y + 13)];
    area.draw(&Rectangle::new(corners, palette(color).filled()))?;
    area.draw_text(label, &text(TEXT), (x + 20, y + 2))?;
    Ok(())
}

fn draw_lines<X>(
    area: &DrawingArea<SVGBackend, Shift>,
    lines: &[Line],
    axes: &Axes,
    x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
) -> Result<(), Box<dyn Error>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let (low, high) = axes.y_range;
    let mut chart = framed(area).build_cartesian_2d(x, low..high)?;
    mesh(&mut chart, axes)?;
    for line in lines {
        let style = palette(line.color).stroke_width(2);
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
    }
    Ok(())
}

fn mesh<X>(
    chart: &mut ChartContext<SVGBackend, Cartesian2d<X, RangedCoordf64>>,
    axes: &Axes,
) -> Result<(), Box<dyn Error>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_labels(6)
        .y_labels(5)
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(if axes.y_exponents { 10_f64.powf(*y) } else { *y }))
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(text(TEXT))
        .draw()?;
    Ok(())
}

/// The picture for a page, whose style sheet says what ink is.
pub fn for_page(svg: &str) -> String {
    let svg = svg.replace(&hex(INK), "var(--ink)").replace(&hex(GRID), "var(--grid)").replacen(
        "<svg ",
        "<svg class=\"chart\" role=\"img\" ",
        1,
    );
    // Sizes are the page's; the view box keeps the shape.
    let Some(end) = svg.find('>') else { return svg };
    let (head, rest) = svg.split_at(end);
    let head: Vec<&str> = head
        .split(' ')
        .filter(|word| !word.starts_with("width=") && !word.starts_with("height="))
        .collect();
    head.join(" ") + rest
}

/// The picture as a file of its own, on white.
pub fn for_file(svg: &str) -> String {
    let svg = svg.replace(&hex(INK), "#1f2328").replace(&hex(GRID), "#d0d7de");
    svg.replacen("<svg ", "<svg style=\"background:#fff\" ", 1)
}

/// A number with at most three digits that say something.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (value, unit) = match size {
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

/// Colours that can be distinguished on white and on black.
pub fn palette(at: usize) -> RGBColor {
    let RGBColor(red, green, blue) = PALETTE[at % PALETTE.len()];
    // A fifth of the way to white for each tint.
    let tint = (at / PALETTE.len()).min(TINTS_MAX) as u32;
    let pale = |part: u8| (u32::from(part) + (255 - u32::from(part)) * tint / 5) as u8;
    RGBColor(pale(red), pale(green), pale(blue))
}

/// A place in the palette: a hue, made paler this many times.
pub fn shade(hue: usize, tint: usize) -> usize {
    hue % PALETTE.len() + PALETTE.len() * tint.min(TINTS_MAX)
}

pub fn hex(color: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2)
}

fn text(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

const PALETTE: [RGBColor; 10] = [
    RGBColor(0x3B, 0x82, 0xC4),
    RGBColor(0xE6, 0x86, 0x1A),
    RGBColor(0x3F, 0xA0, 0x4B),
    RGBColor(0xD6, 0x4F, 0x56),
    RGBColor(0x9A, 0x6F, 0xC4),
    RGBColor(0x2A, 0xA5, 0xA0),
    RGBColor(0xC2, 0x7B, 0xA0),
    RGBColor(0x9C, 0x80, 0x5C),
    RGBColor(0xB3, 0xA1, 0x25),
    RGBColor(0x7B, 0x87, 0x94),
];
/// Stand-ins for colours that the page chooses.
const INK: RGBColor = RGBColor(1, 2, 3);
const GRID: RGBColor = RGBColor(4, 5, 6);

const TINTS_MAX: usize = 3;

const WIDTH: u32 = 440;
const LABEL_WIDTH_MAX: u32 = 260;
const CHARACTER_WIDTH: u32 = 10;
const BAR_HEIGHT: u32 = 26;
const TEXT: i32 = 17;
const LEGEND_HEIGHT: u32 = 20;
/// Longer labels have a line each.
const LEGEND_CHARACTERS_MAX: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(length: f64) -> Bar {
        let interval = Some((length * 0.9, length * 1.1));
        Bar {
            label: "mako <25%>".to_string(),
            parts: vec![(length, 0)],
            interval,
            text: short(length),
        }
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let svg = bars(&[bar(10.0), bar(5.0)], "seconds").unwrap();
        let color = format!("fill=\"{}\"", hex(palette(0)));
        let widths: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains(&color) && line.contains("<rect"))
            .map(|line| {
                let at = line.find(" width=\"").unwrap() + 8;
                line[at..].split('"').next().unwrap().parse().unwrap()
            })
            .collect();
        assert_eq!(widths.len(), 2, "{svg}");
        assert!((widths[0] / widths[1] - 2.0).abs() < 0.05, "{widths:?}");
        assert!(svg.contains("mako &lt;25%&gt;"), "labels are escaped");
    }

    #[test]
    fn a_page_chooses_ink_and_size() {
        let axes = Axes {
            x: "ms",
            y: "share",
            logarithmic: true,
            y_exponents: false,
            x_range: (0.1, 100.0),
            y_range: (0.0, 1.0),
        };
        let points = vec![(0.1, 0.0), (10.0, 0.5), (100.0, 1.0)];
        let svg = lines(&[Line { label: "a".to_string(), color: 1, points }], &axes).unwrap();
        let page = for_page(&svg);
        assert!(page.contains("var(--ink)") && !page.contains(&hex(INK)));
        assert!(page.contains("var(--grid)") && page.contains("viewBox"));
        assert!(!page[..page.find('>').unwrap()].contains("width="), "{}", &page[..200]);
        let file = for_file(&svg);
        assert!(!file.contains(&hex(INK)) && !file.contains(&hex(GRID)) && file.contains("width="));
    }

    #[test]
    fn points_that_fall_together_are_one() {
        let axes = Axes {
            x: "s",
            y: "MB",
            logarithmic: false,
            y_exponents: false,
            x_range: (0.0, 10.0),
            y_range: (0.0, 100.0),
        };
        let cloud = |color, points| Cloud { label: format!("c{color}"), color, points };
        let both = [cloud(0, vec![(1.0, 1.0), (1.0, 1.0001), (9.0, 99.0)]), cloud(1, Vec::new())];
        let svg = clouds(&both, &axes).unwrap();
        let path = svg.lines().find(|line| line.starts_with("<path")).unwrap();
        assert!(path.contains(&hex(palette(0))) && path.matches("h2").count() == 2, "{path}");
        let places: Vec<Vec<i32>> = path[path.find("d=\"").unwrap() + 4..]
            .split('M')
            .map(|place| place.split(['h', ' ']).filter_map(|n| n.parse().ok()).collect())
            .collect();
        assert!(
            places[0][0] < places[1][0] && places[0][1] > places[1][1],
            "up is more: {places:?}"
        );
        assert!(for_page(&svg).ends_with("</svg>\n"));
    }

    #[test]
    fn nothing_to_draw_is_no_error() {
        assert!(bars(&[], "s").is_ok());
        assert!(bars(&[bar(0.0)], "s").is_ok());
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.05, 1.5, 12.34, 150.0, 25_000.0, 3.2e9].map(short);
        assert_eq!(shown, ["0", "0.05", "1.5", "12.3", "150", "25k", "3.2G"]);
    }
}
