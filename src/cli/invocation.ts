/**
 * `symbi invocation`: for the operator of a run whose outcome nobody can prove. Inspecting shows what is known; a review
 * that was written by a person closes the case. Neither lets the id run again.
 */
import { Command, Option } from 'commander'
import { Fault, type InvocationId, idOrNull } from '../core/index.ts'
import { fileClaims, type Inspection, readReviewFile } from '../invocations/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from './cli.ts'
import { jsonLine } from './plain-text.ts'
import { projectPaths } from './project/project-paths.ts'
import { projectWords } from './terminal.ts'
import { typed } from './typed.ts'

interface NameOptions {
  readonly scope: string
  readonly id: string
}

const nameOptions = (): Option[] => [
  new Option(
    '--scope <scope>',
    'the entry point: ws:chat:v1, cli:orga (symbi run), mcp:call:v1 (calls of tool clients)',
  ).default('ws:chat:v1'),
  new Option('--id <uuid>', 'the id of the invocation').makeOptionMandatory(),
]

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const invocation = new Command('invocation').description('look into an invocation, and reconcile it')
  program.addCommand(invocation)
  addCommand<NameOptions & { readonly reviewTemplate?: string }>(invocation, exit, {
    name: 'inspect',
    summary: 'everything known about an invocation, as JSON; exits 2 when it is unresolved',
    options: [...nameOptions(), new Option('--review-template <file>', 'also begin a review in a new file')],
    action: async (options) => {
      const claims = fileClaims(cli.world, (await projectPaths(cli.world, options.project)).root)
      const found = await claims.inspect(options.scope, idOf(options), new AbortController().signal)
      print(cli, options, found)
      if (options.reviewTemplate !== undefined) await writeTemplate(cli, options, options.reviewTemplate, found)
      return found.status === 'unresolved' ? 2 : 0
    },
  })
  addCommand<NameOptions & { readonly review: string }>(invocation, exit, {
    name: 'reconcile',
    summary: 'sign a review of an unresolved invocation; its id never runs again',
    options: [...nameOptions(), new Option('--review <file>', 'the review, as JSON').makeOptionMandatory()],
    action: async (options) => {
      const { root } = await projectPaths(cli.world, options.project)
      const review = await readReviewFile(cli.world, options.review)
      const signal = new AbortController().signal
      const receipt = await fileClaims(cli.world, root).reconcile(options.scope, idOf(options), review, signal)
      print(cli, options, receipt)
      cli.console.note('Reconciled. Whoever asks for the id is told so, and the id never runs again')
      return 0
    },
  })
}

function idOf({ id }: NameOptions): InvocationId {
  const parsed = idOrNull('invocation', id)
  if (parsed !== null) return parsed
  throw new Fault('INVALID_INVOCATION_ID', {
    message: `Cannot use the id ${JSON.stringify(id.slice(0, 80))}: it is not a UUID of 36 characters, or it is nil`,
    hint: 'Give the id that the client printed before it sent the message',
  })
}

function print({ console }: Cli, { json }: CommonOptions, value: object): void {
  console.result(json === true ? jsonLine(value) : JSON.stringify(value, null, 2))
}

/** A beginning that no command accepts before a person has decided: the outcome, the reasons, and that nothing runs. */
async function writeTemplate(
  cli: Cli,
  options: NameOptions & CommonOptions,
  path: string,
  { status, snapshot, snapshot_hash }: Inspection,
): Promise<void> {
  if (status !== 'unresolved') return cli.console.note(`No review was begun: the invocation is ${status}`)
  const review = {
    snapshot_hash,
    outcome: 'completed | failed | no_effects',
    rationale: '',
    evidence: [{ reference: snapshot.audit.path, sha256: snapshot.journal_sha256 }],
    effects_stopped: false,
  }
  const file = await cli.world.files.create(path, 0o600)
  if (file === null) {
    throw new Fault('REVIEW_INVALID', {
      message: `Cannot begin the review "${path}": the file exists`,
      hint: 'Name a new file; a review that somebody wrote is not overwritten',
    })
  }
  try {
    await file.append(Buffer.from(`${JSON.stringify(review, null, 2)}\n`))
    await file.syncAll()
  } finally {
    await file.close()
  }
  const { scope, id, project } = options
  const line = typed(
    'invocation',
    'reconcile',
    '--scope',
    scope,
    '--id',
    id,
    '--review',
    path,
    ...projectWords(project),
  )
  cli.console.note(`Fill in outcome, rationale and evidence, set effects_stopped to true, and then: ${line}`)
}
