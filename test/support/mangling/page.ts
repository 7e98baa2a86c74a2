/** docs/journal-manglings.md, made from the tables that the tests hold the verifiers to. */
import type { Believed, Expected, Reported } from './expected.ts'
import { FOLDER_MANGLINGS } from './folders.ts'
import { MANGLINGS } from './manglings.ts'

const HEAD = `# What can be done to a journal, and who notices

Somebody may write to the folder of the journals and has not the signing key. This page says what each way to mangle a journal
comes to. It is made from the tables in \`test/support/mangling\`, and tests hold every verifier to every row, on journals of real
chats, delegations and tool sessions. To make it again: \`npx vitest run test/journal/mangling-page.test.ts -u\`.

Nothing below is ever taken for genuine and says something else than the journal that was written. Bytes are refused, with the code
\`EVIDENCE_INVALID\`; or the first entries are believed as what they are, a beginning, and every report says that somebody must look.
How to ask is said in [auditing.md](auditing.md).

| column | who says it | |
| --- | --- | --- |
| run | \`verifyRun\` | a complete file of one run. It asks for no end of the run: whether the last entry is \`Terminated\` is for whoever needs a whole run, as \`audit verify --complete\` does |
| prefix | \`verifyRunPrefix\` | the same, and one unfinished last line is left out and counted: the tail |
| report | the recovery report, \`audit inspect\` | |
| alone | \`verifyTree\`, \`audit verify --tree\` | the result of the mangled run, asked about by itself. Where no line is complete, the command line refuses it before it looks at a tree |
| begun | the same | of the mangled run when another run began it, whose journal lies there as it was |

| word | means |
| --- | --- |
| refused | \`EVIDENCE_INVALID\`: no entry is believed |
| beginning | the first entries of the honest journal, and no end of the run |
| whole | all entries of the honest journal |
| + tail | bytes behind them are counted, and not believed |
| to reconcile | the report is not complete and wants a person. No effect is known in it that was unknown before |
| incomplete, invalid, mismatch, missing | as in [auditing.md](auditing.md) |
`

const TREES = `
## Journals that belong together

A run and a run that it began, mangled together. \`audit verify --tree\` was asked about the upper one, and about the lower one. The tree
holds when every run in it is verified or incomplete.

| what was done | upper | lower | holds | asked about the lower: upper | holds |
| --- | --- | --- | --- | --- | --- |
`

const FOOT = `
The last row is the one thing that no journal gives away: a run that was cut off at an entry, together with everything that it had
begun later, is a sound beginning like any other. It is reported as incomplete, never as verified. The claim of the invocation, and
copies that are kept elsewhere, know better.

## What random manglings came to

A test mangles these journals 10,000 times, each one to three times over, also journals of runs that crashed. What may be believed
is told by the bytes alone: the lines at the front that are unchanged, when nothing follows them that ends in a newline, or what follows begins with
sectors that never reached the disk. Each verifier must say exactly that. \`SYMBI_SEED\` replays a run, \`SYMBI_MANGLINGS\` sets the count.
`

export function manglingsPage(): string {
  let page = HEAD
  let group = ''
  for (const { group: next, name, expected } of MANGLINGS) {
    if (next !== group)
      page += `\n## ${upper(next)}\n\n| what was done | run | prefix | report | alone | begun |\n| --- | --- | --- | --- | --- | --- |\n`
    group = next
    page += rowOf(name, expected)
  }
  page += TREES
  for (const { name, parent, child, holds, above, holdsBelow } of FOLDER_MANGLINGS) {
    page += `| ${name} | ${parent} | ${child} | ${yes(holds)} | ${above} | ${yes(holdsBelow)} |\n`
  }
  return page + FOOT
}

function rowOf(name: string, { run, anyRun, prefix, report, root, child }: Expected): string {
  const more = anyRun === undefined ? '' : `; \`verify\`, which is told no run id: ${anyRun}`
  const cells: readonly (Believed | Reported | string)[] = [name, `${run}${more}`, prefix, report, root, child]
  return `| ${cells.join(' | ')} |\n`
}

function yes(holds: boolean): string {
  return holds ? 'yes' : 'no'
}

function upper(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
