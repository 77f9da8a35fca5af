//! The configuration: what each value is, where it comes from, and what is refused.

use insta::assert_snapshot;
use regex::Regex;

use crate::stage::Stage;

// U-04
#[test]
fn u_04_config_prints_each_value_and_where_it_comes_from() {
    let stage = Stage::new()
        .file("ctxc.toml", "protect_steps = 6\nprotected_tools = [\"Task\"]\nmin_tokens = 30\n")
        .file(
            "../config/ctxc/ctxc.toml",
            "min_tokens = 40\nthreshold = 0.8\narchive = \"sqlite:/never/used\"\napi_key = \"sk-planted\"\n",
        )
        .env("CTXC_PROTECTED_FILES", "docs/**, *.md")
        .env("CTXC_PROTECT_TURNS", "2");
    // The width of the first column follows the path of the home.
    let text = Regex::new(" +# ").unwrap().replace_all(&stage.run(["config"]).text, "  # ").into_owned();
    assert_snapshot!(text, @r#"
    exit code: 0
    ----- standard output
    archive = "sqlite:[HOME]/archive.sqlite"  # environment
    # engine is not set  # default
    # base_url is not set  # default
    api_key = "(set)"  # [HOME]/config/ctxc/ctxc.toml
    # model is not set  # default
    # large_model is not set  # default
    # max_cost is not set  # default
    concurrency = 10  # default
    attempts = 4  # default
    timeout = 5.0  # default
    timeout_step = 5.0  # default
    # rpm is not set  # default
    # tokens is not set  # default
    min_tokens = 30  # [HOME]/shop/ctxc.toml
    protect_turns = 2  # environment
    protect_steps = 6  # [HOME]/shop/ctxc.toml
    protected_tools = ["Task"]  # [HOME]/shop/ctxc.toml
    protected_files = ["docs/**", "*.md"]  # environment
    context_window = 200000  # default
    threshold = 0.8  # [HOME]/config/ctxc/ctxc.toml
    headroom = 1.0  # default
    prices = {}  # default
    # embeddings.base_url is not set  # default
    # embeddings.model is not set  # default
    # embeddings.api_key is not set  # default
    ----- standard error
    "#);
    let run = stage.run(["config", "--json"]);
    assert!(!run.text.contains("sk-planted"), "R-14");
    let json = run.json();
    assert_eq!(json["values"][1]["source"], "default");
    assert!(json["values"][1]["value"].is_null());
}

// U-04: a flag goes before the environment, that before the project, that before the user, that before the default.
#[test]
fn u_04_the_nearest_word_counts() {
    let user = ("../config/ctxc/ctxc.toml", "min_tokens = 1000000\n");
    let project = ("ctxc.toml", "min_tokens = 10\n");
    let args: &[&str] = &["compress", "latest", "--bands", "0-100:heavy", "--dry-run", "--json"];
    let n_tasks = |stage: Stage, args: &[&str]| {
        stage.session("small").run(args).ended(0).json()["tasks"].as_array().unwrap().len()
    };
    let by_default = n_tasks(Stage::new(), args);
    assert!(by_default > 0);
    assert_eq!(n_tasks(Stage::new().file(user.0, user.1), args), 0);
    assert!(n_tasks(Stage::new().file(user.0, user.1).file(project.0, project.1), args) >= by_default);
    let stage = || Stage::new().file(project.0, project.1).env("CTXC_MIN_TOKENS", "1000000");
    assert_eq!(n_tasks(stage(), args), 0);
    assert_eq!(n_tasks(stage(), &[args, &["--min-tokens", "20"]].concat()), by_default);
}

// U-04
#[test]
fn u_04_a_wrong_configuration_is_named_with_its_place() {
    let cases = [
        ("ctxc.toml", "tokens = \"chars4\"\nmin_token = 3\n", ("CTXC_MIN_TOKENS", "")),
        ("ctxc.toml", "\narchive = \"sqlite:/elsewhere\"\n", ("CTXC_MIN_TOKENS", "")),
        ("ctxc.toml", "base_url = \"https://elsewhere.example/v1\"\n", ("CTXC_MIN_TOKENS", "")),
        ("ctxc.toml", "min_tokens = \"many\"\n", ("CTXC_MIN_TOKENS", "")),
        ("ctxc.toml", "min_tokens = 3\n\nthis is no TOML", ("CTXC_MIN_TOKENS", "")),
        ("../config/ctxc/ctxc.toml", "min_tokens = -3\n", ("CTXC_MIN_TOKENS", "")),
        ("other.txt", "", ("CTXC_MIN_TOKENS", "many")),
        ("other.txt", "", ("CTXC_TOKENS", "words")),
    ];
    let said: Vec<String> = cases
        .into_iter()
        .map(|(name, text, (variable, value))| {
            let run = Stage::new().file(name, text).env(variable, value).run(["config"]).ended(2);
            assert_eq!(run.stdout, b"", "{}", run.text);
            run.text.split_once("standard error\n").unwrap().1.to_owned()
        })
        .collect();
    assert_snapshot!(said.concat(), @r#"
    error: cannot read the configuration [HOME]/shop/ctxc.toml, line 2: there is no key "min_token"
    hint: the keys are archive, engine, base_url, api_key, model, large_model, max_cost, concurrency, attempts, timeout, timeout_step, rpm, tokens, min_tokens, protect_turns, protect_steps, protected_tools, protected_files, context_window, threshold, headroom, prices, embeddings.base_url, embeddings.model, embeddings.api_key
    error: cannot read the configuration [HOME]/shop/ctxc.toml, line 2: a project may not set "archive"
    hint: set it in your own configuration, or as CTXC_ARCHIVE
    error: cannot read the configuration [HOME]/shop/ctxc.toml, line 1: a project may not set "base_url"
    hint: set it in your own configuration, or as CTXC_BASE_URL
    error: cannot take the configuration of [HOME]/shop/ctxc.toml: invalid type: string "many", expected u64
    error: cannot read the configuration [HOME]/shop/ctxc.toml, line 3: key with no value, expected `=`
    error: cannot take the configuration of [HOME]/config/ctxc/ctxc.toml: invalid value: integer `-3`, expected u64
    error: cannot take "many" for CTXC_MIN_TOKENS: it is no number
    error: cannot take the configuration of environment: unknown variant `words`, expected `chars4` or `calibrated`
    "#);
}

// G-06: what the user says of prices, and nobody else.
#[test]
fn g_06_prices_are_set_by_the_user_alone() {
    let prices =
        "[prices]\n\"local/tiny\" = { input = 0, output = 0 }\n\"openai/gpt-5\" = { input = 1.5, output = 12 }\n";
    let run = Stage::new().file("../config/ctxc/ctxc.toml", prices).run(["config", "--json"]).ended(0);
    let values = run.json()["values"].as_array().unwrap().clone();
    let set = values.iter().find(|row| row["key"] == "prices").unwrap();
    assert_eq!(set["value"]["openai/gpt-5"], serde_json::json!({"input": 1.5, "output": 12}));
    assert_eq!(set["value"]["local/tiny"]["output"], 0);
    let cases = [
        ("ctxc.toml", prices),
        ("../config/ctxc/ctxc.toml", "[prices]\n\"local/tiny\" = { input = -1, output = 0 }\n"),
        ("../config/ctxc/ctxc.toml", "[prices]\n\"local/tiny\" = 3\n"),
    ];
    let said = cases.map(|(name, text)| {
        let run = Stage::new().file(name, text).run(["config"]).ended(2);
        run.text.split_once("standard error\n").unwrap().1.to_owned()
    });
    assert_snapshot!(said.concat(), @r#"
    error: cannot read the configuration [HOME]/shop/ctxc.toml, line 1: a project may not set "prices"
    hint: set it in your own configuration
    error: cannot take the configuration of [HOME]/config/ctxc/ctxc.toml: a price is not below 0, in US dollars for a million tokens
    error: cannot take the configuration of [HOME]/config/ctxc/ctxc.toml: invalid type: integer `3`, expected a table of input and output
    "#);
}
