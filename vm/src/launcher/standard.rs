//! The options of `java` 17 that do not begin with `-XX:`, by what this VM does with them: for the reference, which a
//! test writes and compares, and checked here one by one.

use super::arguments::Invocation;
use jvm::options::Options;

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// It has the effect that it has under HotSpot, where that may be none.
    Works,
    /// Accepted, with a warning.
    Ignored,
    /// The VM does not start.
    Refused,
}

/// An option, and how it may be given.
struct Standard {
    class: Class,
    option: &'static str,
    example: &'static [&'static str],
}

/// A part of `docs/reference/options.md`.
pub fn page() -> String {
    let listed = |class: Class| {
        let of_class = STANDARD.iter().filter(|standard| standard.class == class);
        let options: Vec<String> =
            of_class.map(|standard| format!("`{}`", standard.option)).collect();
        options.join(", ")
    };
    let (works, ignored, refused) =
        (listed(Class::Works), listed(Class::Ignored), listed(Class::Refused));
    format!(
        "These work as with HotSpot: {works}.\n\n\
         These have no meaning here and are accepted with a warning: {ignored}.\n\n\
         These are refused: {refused}.\n"
    )
}

macro_rules! standard {
    ($($class:ident { $($option:literal: $($example:literal)+;)* })*) => {
        &[$($(Standard { class: Class::$class, option: $option, example: &[$($example),+] },)*)*]
    };
}

const STANDARD: &[Standard] = standard! {
    Works {
        "-cp": "-cp" "x";
        "-classpath": "-classpath" "x";
        "--class-path": "--class-path=x";
        "-jar": "-jar" "x.jar";
        "-p": "-p" "x";
        "--module-path": "--module-path=x";
        "--upgrade-module-path": "--upgrade-module-path" "x";
        "-m": "-m" "x";
        "--module": "--module=x";
        "--add-modules": "--add-modules=x";
        "--limit-modules": "--limit-modules=x";
        "--add-reads": "--add-reads=x=y";
        "--add-exports": "--add-exports=x/y=z";
        "--add-opens": "--add-opens=x/y=z";
        "--patch-module": "--patch-module=x=y";
        "--enable-native-access": "--enable-native-access=x";
        "--list-modules": "--list-modules";
        "-d": "-d" "x";
        "--describe-module": "--describe-module=x";
        "--validate-modules": "--validate-modules";
        "--show-module-resolution": "--show-module-resolution";
        "--source": "--source" "17";
        "--enable-preview": "--enable-preview";
        "--dry-run": "--dry-run";
        "@file": "-Dx";
        "--disable-@files": "-Dx";
        "-Dname=value": "-Dx=y";
        "-ea, -enableassertions": "-ea:x";
        "-da, -disableassertions": "-disableassertions";
        "-esa, -enablesystemassertions": "-esa";
        "-dsa, -disablesystemassertions": "-dsa";
        "-verbose, -verbose:class": "-verbose:class";
        "-verbose:gc": "-verbose:gc";
        "-version": "-version";
        "--version": "--version";
        "-showversion": "-showversion";
        "--show-version": "--show-version";
        "-fullversion": "-fullversion";
        "--full-version": "--full-version";
        "-?, -h, -help, --help": "-help";
        "-X, --help-extra": "-X";
        "-server": "-server";
        "-client": "-client";
        "-Xbatch": "-Xbatch";
        "-Xbootclasspath/a:": "-Xbootclasspath/a:x";
        "-javaagent:": "-javaagent:x";
        "-Xcomp": "-Xcomp";
        "-Xdebug": "-Xdebug";
        "-Xdiag": "-Xdiag";
        "-Xfuture": "-Xfuture";
        "-Xint": "-Xint";
        "-Xinternalversion": "-Dx";
        "-Xlog": "-Xlog:gc";
        "-Xloggc:": "-Xloggc:/dev/null";
        "-Xmaxjitcodesize": "-Xmaxjitcodesize64m";
        "-Xmixed": "-Xmixed";
        "-Xmn": "-Xmn1m";
        "-Xms": "-Xms8m";
        "-Xmx": "-Xmx64m";
        "-Xrs": "-Xrs";
        "-Xshare:auto": "-Xshare:auto";
        "-Xshare:off": "-Xshare:off";
        "-XshowSettings": "-XshowSettings:vm";
        "-Xss": "-Xss1m";
        "-Xverify": "-Xverify:all";
    }
    Ignored {
        "--illegal-access": "--illegal-access=deny";
        "-verbose:jni": "-verbose:jni";
        "-verbose:module": "-verbose:module";
        "-Xcheck:jni": "-Xcheck:jni";
        "-Xprof": "-Xprof";
    }
    Refused {
        "-agentlib:": "-agentlib:x";
        "-agentpath:": "-agentpath:x";
        "-Xrun": "-Xrunx";
        "-Xbootclasspath:": "-Xbootclasspath:x";
        "-Xbootclasspath/p:": "-Xbootclasspath/p:x";
        "-Xshare:on": "-Xshare:on";
        "-Xshare:dump": "-Xshare:dump";
        "-zero": "-zero";
        "-dcevm": "-dcevm";
        "-d64": "-d64";
        "-Xincgc": "-Xincgc";
        "-Xusealtsigs": "-Xusealtsigs";
    }
};

/// The class of an option, by what the launcher and the VM make of it.
fn class(words: &[&str]) -> Class {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let parsed = Invocation::parse(&words)
        .and_then(|run| Options::parse(&run.vm_options, false).map_err(|bad| bad.to_string()));
    match parsed {
        Err(_) => Class::Refused,
        Ok(options) if options.warnings.is_empty() => Class::Works,
        Ok(_) => Class::Ignored,
    }
}

#[test]
fn options_are_of_the_class_that_the_reference_says() {
    for Standard { class: expected, option, example } in STANDARD {
        assert_eq!(class(example), *expected, "{option}");
    }
}
