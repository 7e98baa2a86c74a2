/** `symbi dsl --check`: every finding with its line, a word about each file that can be used, and a count. */
import type { Cli } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { type Examined, examine } from './examine.ts'
import { findingLines, findingRow } from './findings.ts'
import { namesFor } from './names-for.ts'
import type { ProjectNames } from './project-names.ts'
import type { SourceText } from './source-files.ts'

/** Exits 1 when something would be refused, by whomever; warnings alone exit 0. */
export async function checkSources(
  cli: Cli,
  sources: AsyncIterable<SourceText>,
  { project, json }: { readonly project: string; readonly json: boolean },
): Promise<number> {
  const { world, console } = cli
  const namesOf = namesFor(world, project)
  const total = { files: 0, agents: 0, errors: 0, warnings: 0 }
  const used = new Set<ProjectNames>()
  for await (const source of sources) {
    const names = await namesOf(source.name)
    const examined = await examine(world, source, names)
    const { findings, agents } = examined
    const errors = findings.filter(({ refusedBy }) => refusedBy !== null).length
    if (examined.inProject) used.add(names)
    total.files += 1
    total.agents += agents.length
    total.errors += errors
    total.warnings += findings.length - errors
    if (json) {
      const diagnostics = findings.map(findingRow)
      console.result(jsonLine({ file: source.name, ok: errors === 0, diagnostics, agents }))
      continue
    }
    for (const line of findings.flatMap((finding) => findingLines(finding, examined, console.paint))) {
      console.result(line)
    }
    if (errors === 0) console.result(okLine(examined))
  }
  for (const { problem, registry } of used) {
    if (problem !== null) throw problem // the folder as a whole
    const limit = registry?.problem ?? null
    if (limit === null) continue
    console.note(`${limit.code}: ${limit.message}`)
    console.note(`hint: ${limit.hint}`)
  }
  if (!json) console.result(console.paint(total.errors === 0 ? 'green' : 'red', summary(total)))
  return total.errors === 0 ? 0 : 1
}

const NAMES_MAX = 8

function okLine({ name, agents }: Examined): string {
  const names = agents.slice(0, NAMES_MAX).map((agent) => agent.name)
  const more = agents.length > NAMES_MAX ? ` and ${agents.length - NAMES_MAX} more` : ''
  const declared = agents.length === 0 ? 'no agents' : `${counted(agents.length, 'agent')}: ${names.join(', ')}${more}`
  return oneLine(`${name}: ok, ${declared}`)
}

interface Totals {
  readonly files: number
  readonly agents: number
  readonly errors: number
  readonly warnings: number
}

function summary({ files, agents, errors, warnings }: Totals): string {
  const found = errors + warnings === 0 ? 'no problems' : `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`
  return `${counted(files, 'file')}, ${counted(agents, 'agent')}: ${found}`
}

function counted(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`
}
