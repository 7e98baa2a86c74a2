/** `symbi fmt`: writes agent sources the one way they are written. A file that cannot be formatted keeps no other from it. */
import { type Command, Option } from 'commander'
import { Fault } from '../../core/index.ts'
import { diagnosticJson, SOURCE_BYTES_MAX, showDiagnostic } from '../../dsl/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { agentsOfProject } from '../dsl/source-files.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { type FormatError, type Formatted, formatBytes, formatFile, sourcesAt } from './format-file.ts'

export interface FormatFlags {
  readonly check?: true
  readonly stdin?: true
}

const ERROR_EXIT = 1
const NEEDED_EXIT = 2
const STDIN = '<stdin>'

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<FormatFlags>(program, exit, {
    name: 'fmt',
    summary: 'format agent sources; exits 1 when one has errors, 2 when --check finds one to format',
    args: [
      ['[file...]', 'files that end in .symbi or .dsl, or folders that hold them (default: agents of the project)'],
    ],
    options: [
      new Option('--check', 'change nothing, and name what is not formatted'),
      new Option('--stdin', 'read one source from standard input, and print it'),
    ],
    action: (options, paths) => fmt(cli, options, paths),
  })
}

async function fmt(cli: Cli, options: FormatFlags & CommonOptions, paths: readonly string[]): Promise<number> {
  const isCheck = options.check === true
  const isJson = options.json === true
  if (paths.length > 0 && options.stdin === true) {
    throw new Fault('USAGE', {
      message: 'Cannot format: the text is to come either from files or from --stdin',
      hint: 'Name files or folders, for example: symbi fmt agents, or none for the agents of the project',
    })
  }
  if (options.stdin === true) return await formatStandardInput(cli, isCheck, isJson)
  const seen: Formatted[] = []
  for (const path of paths.length > 0 ? paths : await agentsOfProject(cli.world, options.project)) {
    for (const file of await filesAt(cli, path)) {
      const formatted = typeof file === 'string' ? await formatFile(cli.world, file, isCheck) : file
      show(cli, formatted, isJson)
      seen.push(formatted)
    }
  }
  if (!isJson) cli.console.note(summary(seen))
  return exitOf(seen)
}

async function filesAt({ world, console }: Cli, path: string): Promise<readonly (string | FormatError)[]> {
  const files = await sourcesAt(world, path)
  if ('status' in files) return [files]
  if (files.length === 0) console.note(oneLine(`"${path}" holds no agent source`))
  return files
}

async function formatStandardInput(cli: Cli, isCheck: boolean, isJson: boolean): Promise<number> {
  const result = formatBytes(await cli.console.input(SOURCE_BYTES_MAX)) // what is longer is refused as a source
  if (result.kind === 'invalid') {
    const { text, diagnostics } = result
    const message = 'Cannot format what came on standard input: it has errors'
    show(cli, { file: STDIN, status: 'error', message, hint: 'Mend them first', text, diagnostics }, isJson)
    return ERROR_EXIT
  }
  const status = result.isClean ? 'clean' : isCheck ? 'would_format' : 'formatted'
  if (isJson) cli.console.result(jsonLine({ file: STDIN, status, ...(isCheck ? {} : { text: result.text }) }))
  else if (!isCheck) cli.console.result(result.text.replace(/\n$/, ''))
  return exitOf([{ file: STDIN, status }])
}

function show(cli: Cli, formatted: Formatted, isJson: boolean): void {
  const { file, status } = formatted
  if (status === 'error') showError(cli, formatted, isJson)
  else if (isJson) cli.console.result(jsonLine({ file, status }))
  else if (status === 'formatted') cli.console.result(oneLine(`formatted ${file}`))
  else if (status === 'would_format') cli.console.result(oneLine(`would format ${file}`))
}

function showError({ console }: Cli, { text, ...row }: FormatError, isJson: boolean): void {
  if (isJson) {
    console.result(jsonLine({ ...row, diagnostics: row.diagnostics.map(diagnosticJson) }))
    return
  }
  for (const diagnostic of row.diagnostics) {
    for (const line of showDiagnostic(diagnostic, text, row.file)) console.note(line)
  }
  console.note(oneLine(row.message))
  if (row.hint !== null) console.note(`hint: ${oneLine(row.hint)}`)
}

function summary(seen: readonly Formatted[]): string {
  const count = (status: Formatted['status']): number => seen.filter((one) => one.status === status).length
  const parts = [
    [count('formatted'), 'formatted'],
    [count('would_format'), 'to format'],
    [count('clean'), 'clean'],
    [count('error'), 'failed'],
  ] as const
  const found = parts.filter(([amount]) => amount > 0).map(([amount, what]) => `${amount} ${what}`)
  return `${seen.length} ${seen.length === 1 ? 'file' : 'files'}${found.length === 0 ? '' : `: ${found.join(', ')}`}`
}

function exitOf(seen: readonly Formatted[]): number {
  if (seen.some(({ status }) => status === 'error')) return ERROR_EXIT
  return seen.some(({ status }) => status === 'would_format') ? NEEDED_EXIT : 0
}
