//! `ctxc completions` and `ctxc man`: made of the help texts, so that they name every verb (U-07).

use std::fs;

use crate::stage::Stage;

/// The verbs that `ctxc --help` lists.
fn verbs(stage: &Stage) -> Vec<String> {
    let help = String::from_utf8(stage.run(["--help"]).ended(0).stdout).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What goes on in the next line stands further in.
    let verbs = lines.filter(|line| !line.starts_with("   "));
    verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").map(str::to_owned).collect()
}

// U-07
#[test]
fn every_shell_gets_a_script_that_knows_every_verb() {
    let stage = Stage::new();
    let verbs = verbs(&stage);
    for (shell, sign) in [
        ("bash", "complete -F _ctxc"),
        ("zsh", "#compdef ctxc"),
        ("fish", "complete -c ctxc"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[ctxc]"),
    ] {
        let run = stage.run(["completions", shell]).ended(0);
        let script = String::from_utf8(run.stdout).unwrap();
        assert!(script.contains(sign), "{shell}");
        assert!(run.stderr.is_empty(), "{}", run.stderr);
        for word in verbs.iter().map(String::as_str).chain(["--bands", "--no-archive"]) {
            // Elvish and fish write options without their dashes.
            assert!(script.contains(word.trim_start_matches('-')), "{shell} does not know {word}");
        }
    }
    stage.run(["completions", "tcsh"]).ended(2);
    stage.run(["completions"]).ended(2);
}

// U-07: a script that completes is read when a shell starts, wherever that is.
#[test]
fn completions_and_the_manual_need_no_configuration() {
    let stage = Stage::new().file("ctxc.toml", "no_such_key = 1\n");
    stage.run(["config"]).ended(2);
    stage.run(["completions", "bash"]).ended(0);
    stage.run(["man"]).ended(0);
}

// U-07
#[test]
fn the_manual_is_one_page_or_one_for_each_verb() {
    let stage = Stage::new();
    let page = String::from_utf8(stage.run(["man"]).ended(0).stdout).unwrap();
    assert!(page.contains(".TH ctxc 1"), "{page}");
    for verb in verbs(&stage) {
        assert!(page.contains(&format!("ctxc\\-{verb}(1)")), "{verb}");
    }

    let folder = stage.path("man");
    fs::create_dir(&folder).unwrap();
    let run = stage.run(["man", "man"]).ended(0);
    let told: Vec<String> = String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect();
    let mut written: Vec<String> = crate::stage::names(&folder).iter().map(|name| format!("man/{name}")).collect();
    written.sort();
    let mut sorted = told.clone();
    sorted.sort();
    assert_eq!(sorted, written);
    for verb in verbs(&stage) {
        let page = fs::read_to_string(folder.join(format!("ctxc-{verb}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(&format!("ctxc\\-{verb}")), "{page}");
    }
    assert!(folder.join("ctxc-archive-search.1").is_file());
    // Once more: pages are there to be renewed.
    stage.run(["man", "man"]).ended(0);
}

// U-03
#[test]
fn a_folder_for_the_manual_has_to_be_there() {
    let stage = Stage::new();
    insta::assert_snapshot!(stage.run(["man", "nowhere"]).text, @"
    exit code: 2
    ----- standard output
    ----- standard error
    error: no such folder: nowhere
    hint: create it first, or leave it out to print one page
    ");
}
