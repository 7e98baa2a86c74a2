/**
 * `symbi doctor`: is this project fit to run, and is what it did still provable? Looks and never repairs; starts nothing that
 * the project names, and asks no provider. Exit code 1 if a required check fails.
 */
import type { Command } from 'commander'
import { isFault } from '../../core/index.ts'
import { openProject, type Project } from '../../runtime/index.ts'
import type { World } from '../../world/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import type { Console } from '../console.ts'
import { toolServerVariables } from '../mcp/variables.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { type Config, optionsFor, readConfig } from '../settings/config.ts'
import { columnsOf } from '../terminal.ts'
import { filled, fittedTable } from '../text-table.ts'
import { checkClaims } from './doctor-claims.ts'
import { checkJournals } from './doctor-journals.ts'
import { checkDisk, checkNode, checkPlatform, checkPort } from './doctor-machine.ts'
import {
  checkAgents,
  checkLayout,
  checkModel,
  checkModes,
  checkPolicyFiles,
  checkSigningKey,
} from './doctor-project.ts'
import { type Finding, failed, guarded, ok, type Patient, type Row, skipped } from './doctor-rows.ts'
import { checkApprovals, checkReadyMade, checkToolServers } from './doctor-tools.ts'

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<object>(program, exit, {
    name: 'doctor',
    summary: 'check this machine and the project, without changing anything',
    options: optionsFor('host', 'port', 'provider', 'apiKeysFile'),
    action: (options) => doctor(cli, options),
  })
}

interface Check {
  readonly check: string
  readonly level: Row['level']
  /** What it needs before it can say anything. */
  readonly needs: 'nothing' | 'project' | 'configuration'
  readonly look: (patient: Patient) => Promise<Finding>
}

const CHECKS: readonly Check[] = [
  { check: 'node', level: 'required', needs: 'nothing', look: checkNode },
  { check: 'platform', level: 'required', needs: 'nothing', look: checkPlatform },
  { check: 'layout', level: 'required', needs: 'project', look: checkLayout },
  { check: 'modes', level: 'required', needs: 'configuration', look: checkModes },
  { check: 'disk', level: 'required', needs: 'project', look: checkDisk },
  { check: 'signing key', level: 'required', needs: 'project', look: checkSigningKey },
  { check: 'policies', level: 'required', needs: 'project', look: checkPolicyFiles },
  { check: 'agents', level: 'required', needs: 'project', look: checkAgents },
  { check: 'model', level: 'required', needs: 'configuration', look: checkModel },
  { check: 'tools', level: 'required', needs: 'configuration', look: checkReadyMade },
  { check: 'tool servers', level: 'required', needs: 'configuration', look: checkToolServers },
  { check: 'port', level: 'required', needs: 'configuration', look: checkPort },
  { check: 'journals', level: 'required', needs: 'project', look: checkJournals },
  { check: 'claims', level: 'required', needs: 'project', look: checkClaims },
  { check: 'approvals', level: 'required', needs: 'project', look: checkApprovals },
]

async function doctor(cli: Cli, options: CommonOptions): Promise<number> {
  const { console, world } = cli
  const rows: Row[] = []
  const tell = (row: Row): void => {
    rows.push(row)
    if (options.json) console.result(jsonLine(row))
  }
  const project = await findOrTell(world, options.project, tell)
  const config = project === null ? null : await configOrTell(cli, project, options, tell)
  const variables = project === null || config === null ? {} : await toolServerVariables(cli, project.root)
  const patient = { world, project, config, variables, progress: (text: string) => console.progress(text) }
  for (const { check, level, needs, look } of CHECKS) {
    console.progress(`checking ${check} …`)
    const isBlocked = (needs !== 'nothing' && project === null) || (needs === 'configuration' && config === null)
    const finding = isBlocked
      ? skipped(`needs a ${project === null ? 'project' : 'usable configuration'}`)
      : await guarded(() => look(patient))
    tell({ check, level, ...finding })
  }
  console.progress('')
  if (!options.json) for (const line of report(rows, console, columnsOf(cli))) console.result(line)
  return rows.some(({ level, status }) => level === 'required' && status === 'failed') ? 1 : 0
}

async function findOrTell(world: World, path: string, tell: (row: Row) => void): Promise<Project | null> {
  try {
    const project = await openProject(world, path)
    tell({ check: 'project', level: 'required', ...ok('the folder is there') })
    return project
  } catch (error) {
    if (!isFault(error)) throw error
    tell({ check: 'project', level: 'required', ...failed(error.message, error.hint) })
    return null
  }
}

async function configOrTell(
  { world, env }: Cli,
  project: Project,
  flags: object,
  tell: (row: Row) => void,
): Promise<Config | null> {
  const row = { check: 'configuration', level: 'required' } as const
  try {
    const { config, notes } = await readConfig(world, { root: project.root, flags, env })
    tell({ ...row, ...ok(notes.length === 0 ? 'every setting can be used' : notes.join('; ')) })
    return config
  } catch (error) {
    if (!isFault(error)) throw error
    tell({ ...row, ...failed(error.message, error.hint) })
    return null
  }
}

const STYLES = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const

/** Findings in columns, and below them what to do about each that is not well. */
function report(rows: readonly Row[], { paint }: Console, columns: number): readonly string[] {
  const cells = rows.map(({ check, status, found }) => [status.padEnd(7), check, found])
  const lines = fittedTable(cells, columns)
  const shown = lines.map((line) => {
    const style = STYLES[line.slice(0, 7).trimEnd() as Row['status']]
    return style === undefined ? line : paint(style, line.slice(0, 7)) + line.slice(7)
  })
  const hints = rows.flatMap(({ check, hint, items }) => [
    ...(items ?? []).map((item) => `${check}: ${oneLine(item)}`),
    ...(hint === null ? [] : filled(`${check}: ${oneLine(hint)}`, columns)),
  ])
  return hints.length === 0 ? shown : [...shown, '', ...hints]
}
