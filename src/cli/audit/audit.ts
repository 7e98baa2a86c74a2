/** `symbi audit`: looking at evidence. Reads and never repairs; makes no file, no key, no lock. */
import { dirname } from 'node:path'
import { Command, Option } from 'commander'
import { Fault, parseId, type RunId } from '../../core/index.ts'
import { addCommand, type Cli, type ExitCode } from '../cli.ts'
import { jsonLine } from '../plain-text.ts'
import { type ProjectPaths, projectPaths } from '../project/project-paths.ts'
import { claimsFor } from './claims.ts'
import { findJournal, folderMeant } from './find-journal.ts'
import { readRun } from './read-run.ts'
import { type ShowFlags, show } from './show.ts'
import { keySentence, projectKey, trustedKey } from './trusted-key.ts'
import { verifyFolder, verifyOne, verifyProject } from './verify.ts'
import { verifyRunTree } from './verify-tree.ts'

interface KeyOptions {
  readonly runId?: string
  readonly publicKey?: string
}

const JOURNAL_HELP =
  'a file, the id of a run of the project (or its beginning), or "latest": the latest that nobody delegated'
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
  addCommand<KeyOptions & ShowFlags>(audit, exit, {
    name: 'show',
    summary: 'a run as a readable timeline, and the runs that it delegated',
    args: [['<journal>', JOURNAL_HELP]],
    options: [
      runOption(),
      keyOption(),
      new Option('--full', 'show arguments, results and reasons at full length'),
      new Option('--no-follow', 'leave out the runs that it delegated'),
    ],
    action: async (options, [wanted = '']) => {
      const paths = lazily(cli, options.project)
      const file = await findJournal(cli.world, paths, wanted, runIdOf(options))
      const key = await trustedKey(cli.world, paths, options.publicKey)
      return await show(cli, file, key, options)
    },
  })
  addCommand<KeyOptions & { readonly complete?: true; readonly tree?: true }>(audit, exit, {
    name: 'verify',
    summary: 'verify one journal, one run with all that it delegated, or every journal of a folder or of the project',
    args: [['[journal]', `${JOURNAL_HELP}; a folder: all journals in it; none: all of the project`]],
    options: [
      runOption(),
      keyOption(),
      new Option('--tree', 'verify also every run that it delegated, and that both journals of each link say the same'),
      new Option('--complete', 'fail also for journals without the end of their run'),
    ],
    action: async (options, [wanted]) => {
      const paths = lazily(cli, options.project)
      if (wanted === undefined) {
        if (options.tree === true) throw nothingAsked()
        const project = await paths()
        return await verifyProject(cli, project, await trustedKey(cli.world, paths, options.publicKey), options)
      }
      const folder = await folderMeant(cli.world, wanted)
      if (folder !== null) {
        if (options.tree === true || options.runId !== undefined) throw noRunOf(wanted)
        const place = { folder, claims: await claimsFor(cli.world, paths, folder) }
        return await verifyFolder(cli, place, await trustedKey(cli.world, paths, options.publicKey), options)
      }
      const file = await findJournal(cli.world, paths, wanted, runIdOf(options))
      const key = await trustedKey(cli.world, paths, options.publicKey)
      const claims = await claimsFor(cli.world, paths, dirname(file.path))
      const verifyIt = options.tree === true ? verifyRunTree : verifyOne
      return await verifyIt(cli, claims, file, key, options)
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

function nothingAsked(): Fault {
  return new Fault('USAGE', {
    message: 'Cannot verify a tree: no run is named',
    hint: 'Name one, or "latest"; without --tree every journal of the project is verified, and every link between them',
  })
}

function noRunOf(folder: string): Fault {
  return new Fault('USAGE', {
    message: `Cannot verify one run: "${folder}" is a folder`,
    hint: 'Name a journal of it, or leave out --tree and --run-id: every journal is verified, and every link between them',
  })
}

function runIdOf({ runId }: KeyOptions): RunId | null {
  return runId === undefined ? null : parseId('run', runId)
}
