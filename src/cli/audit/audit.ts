/** `symbi audit`: looking at evidence. Reads and never repairs; makes no file, no key, no lock. */
import { Command, Option } from 'commander'
import { parseId, type RunId } from '../../core/index.ts'
import { addCommand, type Cli, type ExitCode } from '../cli.ts'
import { jsonLine } from '../plain-text.ts'
import { type ProjectPaths, projectPaths } from '../project-paths.ts'
import { findJournal } from './find-journal.ts'
import { readRun } from './read-run.ts'
import { show } from './show.ts'
import { keySentence, projectKey, trustedKey } from './trusted-key.ts'
import { verifyOne, verifyProject } from './verify.ts'

interface KeyOptions {
  readonly runId?: string
  readonly publicKey?: string
}

const JOURNAL_HELP = 'a file, the id of a run of the project (or its beginning), or "latest"'
const keyOption = (): Option =>
  new Option('--public-key <hex>', "the key that was kept elsewhere (default: the project's own)")
const runOption = (): Option =>
  new Option('--run-id <uuid>', 'the run that the journal must be of (default: what its name says)')

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const audit = new Command('audit').description('look at the evidence of runs')
  program.addCommand(audit)
  addCommand<KeyOptions>(audit, exit, {
    name: 'inspect',
    summary: 'what a journal proves, as JSON; exits 2 when somebody must reconcile it',
    args: [['<journal>', JOURNAL_HELP]],
    options: [runOption(), keyOption()],
    action: async (options, [wanted = '']) => {
      const paths = lazily(cli, options.project)
      const file = await findJournal(cli.world, paths, wanted, runIdOf(options))
      const key = await trustedKey(cli.world, paths, options.publicKey)
      const { report } = await readRun(cli.world, file, key.key)
      cli.console.result(options.json === true ? jsonLine(report) : JSON.stringify(report, null, 2))
      cli.console.note(keySentence(key))
      return report.requires_reconciliation ? 2 : 0
    },
  })
  addCommand<KeyOptions & { readonly full?: true }>(audit, exit, {
    name: 'show',
    summary: 'a run as a readable timeline',
    args: [['<journal>', JOURNAL_HELP]],
    options: [runOption(), keyOption(), new Option('--full', 'show arguments, results and reasons at full length')],
    action: async (options, [wanted = '']) => {
      const paths = lazily(cli, options.project)
      const file = await findJournal(cli.world, paths, wanted, runIdOf(options))
      const key = await trustedKey(cli.world, paths, options.publicKey)
      return show(cli, await readRun(cli.world, file, key.key), key, options)
    },
  })
  addCommand<KeyOptions & { readonly complete?: true }>(audit, exit, {
    name: 'verify',
    summary: 'verify one journal, or every journal of the project',
    args: [['[journal]', `${JOURNAL_HELP}; none: all journals of the project`]],
    options: [
      runOption(),
      keyOption(),
      new Option('--complete', 'fail also for journals without the end of their run'),
    ],
    action: async (options, [wanted]) => {
      const paths = lazily(cli, options.project)
      if (wanted === undefined) {
        const project = await paths()
        return await verifyProject(cli, project, await trustedKey(cli.world, paths, options.publicKey), options)
      }
      const file = await findJournal(cli.world, paths, wanted, runIdOf(options))
      const key = await trustedKey(cli.world, paths, options.publicKey)
      return await verifyOne(cli, paths, file, key, options)
    },
  })
  addCommand<object>(audit, exit, {
    name: 'key',
    summary: 'print the public key of the project, to be kept elsewhere',
    action: async (options) => {
      const { hex } = await projectKey(cli.world, await projectPaths(cli.world, options.project))
      cli.console.result(options.json === true ? jsonLine({ public_key: hex, algorithm: 'ed25519' }) : hex)
      cli.console.note('Keep it where nobody who can write to this project can change it')
      return 0
    },
  })
}

/** Only a command that needs the project asks for it: evidence may be judged far from where it was made. */
function lazily({ world }: Cli, project: string): () => Promise<ProjectPaths> {
  let paths: Promise<ProjectPaths> | null = null
  return () => {
    paths ??= projectPaths(world, project)
    return paths
  }
}

function runIdOf({ runId }: KeyOptions): RunId | null {
  return runId === undefined ? null : parseId('run', runId)
}
