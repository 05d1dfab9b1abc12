import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.Locale;

public class TimeApi {
    public static void main(String[] args) {
        LocalDate d = LocalDate.of(2020, 2, 29);
        System.out.println(d + " " + d.plusYears(1) + " " + d.plusMonths(12) + " " + d.isLeapYear() + " " + d.getDayOfWeek()
            + " " + d.getDayOfYear() + " " + d.with(TemporalAdjusters.next(DayOfWeek.MONDAY)) + " " + d.withDayOfMonth(1).minusDays(1));
        System.out.println(Period.between(LocalDate.of(2000, 1, 31), d) + " " + ChronoUnit.DAYS.between(LocalDate.EPOCH, d));
        Duration t = Duration.ofSeconds(3661, 5_000_000);
        System.out.println(t + " " + t.toMinutes() + " " + t.plusHours(30).toDays() + " " + t.negated() + " " + Duration.parse("PT1H2.5S").toMillis());
        LocalDateTime dt = LocalDateTime.of(2021, 12, 31, 23, 59, 59, 999_000_000);
        System.out.println(dt + " " + dt.plusNanos(1_000_000) + " " + dt.truncatedTo(ChronoUnit.HOURS) + " " + dt.toEpochSecond(ZoneOffset.UTC));
        System.out.println(dt.format(DateTimeFormatter.ofPattern("EEEE, d MMMM uuuu HH:mm:ss.SSS a", Locale.ENGLISH)));
        System.out.println(dt.format(DateTimeFormatter.ISO_LOCAL_DATE) + " " + LocalTime.parse("10:15:30").plusMinutes(50)
            + " " + LocalDate.parse("03/04/2019", DateTimeFormatter.ofPattern("dd/MM/yyyy")));
        ZonedDateTime z = ZonedDateTime.of(LocalDateTime.of(2021, 3, 28, 1, 30), ZoneId.of("Europe/Berlin"));
        System.out.println(z + " " + z.plusHours(1) + " " + z.withZoneSameInstant(ZoneId.of("America/New_York")) + " " + z.getOffset());
        System.out.println(DateTimeFormatter.RFC_1123_DATE_TIME.format(z) + " " + Instant.ofEpochSecond(1_000_000_000L, 7));
        try {
            LocalDate.of(2021, 2, 29);
        } catch (java.time.DateTimeException e) {
            System.out.println(e.getMessage());
        }
        try {
            LocalDate.parse("junk");
        } catch (DateTimeParseException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Instant.now().isAfter(Instant.parse("2020-01-01T00:00:00Z")) + " " + ZoneId.systemDefault());
        java.util.GregorianCalendar c = new java.util.GregorianCalendar(2020, 0, 31);
        c.add(java.util.Calendar.MONTH, 1);
        System.out.println(c.get(java.util.Calendar.DAY_OF_MONTH) + " " + new java.util.Date(0));
        java.text.SimpleDateFormat f = new java.text.SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ssZ", Locale.ROOT);
        f.setTimeZone(java.util.TimeZone.getTimeZone("GMT+5:30"));
        System.out.println(f.format(new java.util.Date(1_600_000_000_000L)));
        long start = System.nanoTime();
        System.out.println(System.nanoTime() >= start && System.currentTimeMillis() > 1_600_000_000_000L);
    }
}
