/** Reading `.symbi` text: the tree alone, and the tree with every check, in megabytes a second of a text as people write it. */
import { assert } from '../src/core/index.ts'
import { checkSource, parse } from '../src/dsl/index.ts'
import type { Bench, Context } from './bench.ts'
import { type Result, resultOf } from './result.ts'
import { repeat, timed } from './rounds.ts'

export const parsing: Bench = { name: 'parse', measure }

async function measure(context: Context): Promise<readonly Result[]> {
  const text = sourceOf(context.quick ? 32 : 512)
  const megabytes = Buffer.byteLength(text) / 1_000_000
  const rate = (work: () => void): Promise<number> =>
    repeat(context, async () => megabytes / ((await timed(work)).wallMs / 1000))
  const tree = await rate(() => assert(parse(text).diagnostics.length === 0, 'the measured text is sound'))
  const checked = await rate(() => {
    const found = checkSource(parse(text))
    assert(!found.some(({ kind }) => kind === 'syntax'), 'the measured text is sound')
  })
  return [
    resultOf({ name: 'parse, the tree', value: tree, unit: 'MB/s' }),
    resultOf({ name: 'parse, with every check', value: checked, unit: 'MB/s' }),
  ]
}

/** So many agents, each with settings, comments and a policy with conditions: about 700 bytes. */
function sourceOf(agents: number): string {
  const metadata = 'metadata { version = "1.0", author = "bench", description = "Agents of a measurement" }\n'
  return metadata + Array.from({ length: agents }, (_, index) => agentOf(index)).join('\n')
}

function agentOf(index: number): string {
  return `// Agent ${index} reads what it is given, and nothing else.
agent reader_${index} {
    capabilities = ["read", "summarise"] // words for the model
    with sandbox = "gvisor", timeout = 90.seconds {
    }
    policy only_documents_${index} {
        allow: "read_file" if invocation.arguments.path in ["docs/a.md", "docs/b.md", "docs/c_${index}.md"]
        deny: "read_file" if invocation.arguments.offset != "" && !(invocation.arguments.offset == "0")
        deny: ["shell", "delegate::untrusted"]
        allow: "web_lookup" if principal != "nobody" || invocation.contract.version == "2" && not context.strict
    }
}
`
}
