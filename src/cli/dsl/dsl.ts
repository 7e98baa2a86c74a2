/** `symbi dsl`: what agent sources say, and what is wrong with them. Reads; changes and runs nothing. */
import { type Command, Option } from 'commander'
import { Fault } from '../../core/index.ts'
import { SOURCE_BYTES_MAX } from '../../dsl/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { checkSources } from './check.ts'
import { describeSources } from './describe.ts'
import { agentsOfProject, filesAt, readSourceFile, type SourceText, sourceOf } from './source-files.ts'

interface DslFlags {
  readonly check?: true
  readonly file?: string
  readonly code?: string
  readonly stdin?: true
}

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<DslFlags>(program, exit, {
    name: 'dsl',
    summary: 'what agent sources say; with --check what is wrong with them, exiting 1 when something is',
    args: [['[path...]', 'agent files, or folders that hold them (with --check default: agents of the project)']],
    options: [
      new Option('--check', 'say what is wrong, file by file'),
      new Option('-f, --file <file>', 'the same as a path'),
      new Option('-c, --code <text>', 'the source itself'),
      new Option('--stdin', 'read one source from standard input'),
    ],
    action: (options, paths) => dsl(cli, options, paths),
  })
}

async function dsl(cli: Cli, options: DslFlags & CommonOptions, paths: readonly string[]): Promise<number> {
  const sources = await sourcesOf(cli, options, paths)
  const use = options.check === true ? checkSources : describeSources
  return await use(cli, sources, { project: options.project, json: options.json === true })
}

export type Sources = AsyncIterable<SourceText>

async function sourcesOf(
  { world, console }: Cli,
  { check, file, code, stdin, project }: DslFlags & CommonOptions,
  paths: readonly string[],
): Promise<Sources> {
  const named = file === undefined ? paths : [file, ...paths]
  const given = [named.length > 0, code !== undefined, stdin === true].filter((is) => is).length
  if (given > 1 || (given === 0 && check !== true)) {
    throw new Fault('USAGE', {
      message: 'Cannot tell which source is meant: give files, or -c TEXT, or --stdin',
      hint: 'For example: symbi dsl --check agents, or symbi dsl -f agents/reviewer.symbi',
    })
  }
  if (code !== undefined) return oneByOne([async () => sourceOf('<text>', Buffer.from(code))])
  if (stdin === true) return oneByOne([async () => sourceOf('<stdin>', await console.input(SOURCE_BYTES_MAX))])
  const files = await filesAt(world, named.length > 0 ? named : await agentsOfProject(world, project))
  return oneByOne(files.map((name) => () => readSourceFile(world, name)))
}

/** Read as they are needed, so that a folder of large files does not lie in memory at once. */
async function* oneByOne(readers: readonly (() => Promise<SourceText>)[]): Sources {
  for (const read of readers) yield await read()
}
