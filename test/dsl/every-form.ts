/** A text with every form of 1.2 to 1.7 in it, set as badly as the grammar allows. */
export const EVERY_FORM = `# first line
metadata { version = "2.1", author: "docs" tags = ["a",
  "b"]
note: { a: 1 "b c": 2, } retries = 3 }   // end of metadata
policy house_rules{deny:["shell","delegate::x"]   // binds all
 allow : true if principal . id=="x"&&!(invocation.arguments.n in[1,-2])
}
agent reader(){capabilities=["read",
"write",] policy none {} with{}
  with sandbox="tier1",timeout=90.seconds{}
  # about helper
  function helper( a:String b :list< map<String,int> >, )->bool{ let x=a.b(1,n=2)[0];if x==1{return;}else if let Some( y,_ )=x{y+=1;}else{}
    for i in xs{f(i);} match x{1=>"one",_=>{return none;},} try{go();}catch(Error e){}catch(e){ log(e); }
    x => if a {1} else {2} }
}
agent writer(input: String) -> Result<String> { capabilities : [] }
type Point={x:int,y:int}
type Alias = Other
function top() { vault://team/key .text; 30 .seconds; Point { x: 1_000.5 }; { a: 1 } }
schedule nightly{cron:"0 30 2 * * *" timezone="UTC",one_shot:true}
channel ops { platform: "slack", channels = ["#a"] policy p { audit: "x" require: "y" }
  data_classification { pii: redact, secret: block } }
memory notes { store markdown retention 90d search { vector_weight 0.7 keyword_weight 0.3 } }
webhook hook { path "/x", secret vault_key filter { json_path "$.a" equals "b" } }
// last line`

/** The same, formatted. */
export const EVERY_FORM_SET = `# first line
metadata {
    version = "2.1",
    author: "docs"
    tags = ["a", "b"]
    note: { a: 1 "b c": 2 }
    retries = 3
} // end of metadata

policy house_rules {
    deny: ["shell", "delegate::x"] // binds all
    allow: true if principal.id == "x" && !(invocation.arguments.n in [1, -2])
}

agent reader() {
    capabilities = ["read", "write"]
    policy none {}
    with {
    }
    with sandbox = "tier1", timeout = 90.seconds {
    }
    # about helper
    function helper(a: String b: list<map<String, int>>) -> bool {
        let x = a.b(1, n = 2)[0];
        if x == 1 {
            return;
        } else if let Some(y, _) = x {
            y += 1;
        } else {}
        for i in xs {
            f(i);
        }
        match x {
            1 => "one",
            _ => {
                return none;
            },
        }
        try {
            go();
        } catch (Error e) {} catch (e) {
            log(e);
        }
        x => if a { 1 } else { 2 }
    }
}

agent writer(input: String) -> Result<String> {
    capabilities: []
}

type Point = { x: int, y: int }

type Alias = Other

function top() {
    vault://team/key .text;
    30 .seconds;
    Point { x: 1_000.5 };
    { a: 1 }
}

schedule nightly {
    cron: "0 30 2 * * *"
    timezone = "UTC",
    one_shot: true
}

channel ops {
    platform: "slack",
    channels = ["#a"]
    policy p {
        audit: "x"
        require: "y"
    }
    data_classification {
        pii: redact,
        secret: block
    }
}

memory notes {
    store markdown
    retention 90d
    search {
        vector_weight 0.7
        keyword_weight 0.3
    }
}

webhook hook {
    path "/x",
    secret vault_key
    filter {
        json_path "$.a"
        equals "b"
    }
}

// last line
`
