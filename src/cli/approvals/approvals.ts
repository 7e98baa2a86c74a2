/**
 * `symbi approvals`: what a running server holds for a person, and the decision. To approve what one has not seen is not the
 * easy way: the review is shown and answered, or its digest is given, which stands under the review and nowhere else.
 */
import { type Command, Option } from 'commander'
import { Fault } from '../../core/index.ts'
import { type HeldAction, reviewDigest, reviewText } from '../../policy/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { findApiUrl, findToken, isExposed } from '../credentials.ts'
import { cut, jsonLine, oneLine } from '../plain-text.ts'
import { columnsOf, projectWords } from '../terminal.ts'
import { textTable } from '../text-table.ts'
import { typed } from '../typed.ts'
import { DeskClient } from './desk-client.ts'

interface Where {
  readonly url?: string
  readonly tokenFile?: string
}

interface Decision extends Where {
  readonly reason?: string
  readonly yes?: true
  readonly digest?: string
}

const ID: readonly (readonly [string, string])[] = [['<id>', 'the id of a held action']]
const NOT_DECIDED = 1

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const approvals = program.command('approvals').description('see and decide what a running server holds for a person')
  const where = (): Option[] => [
    new Option('--url <http://…>', 'the address of the server (default: of the server of the project)'),
    new Option('--token-file <file>', 'the token (default: SYMBI_TOKEN, then .symbiont/chat.token of the project)'),
  ]
  const reason = (): Option => new Option('--reason <text>', 'why; of a denial, the asker is told')
  addCommand<Where>(approvals, exit, {
    name: 'list',
    summary: 'what waits for a decision',
    options: where(),
    action: (options) => list(cli, options),
  })
  addCommand<Where>(approvals, exit, {
    name: 'show',
    summary: 'everything that would be approved, as printable text, with its digest',
    args: ID,
    options: where(),
    action: (options, [id = '']) => show(cli, options, id),
  })
  addCommand<Decision>(approvals, exit, {
    name: 'approve',
    summary: 'let one call take effect, after its review was read and answered',
    args: ID,
    options: [
      ...where(),
      reason(),
      new Option('--yes', 'do not ask; needs --digest'),
      new Option('--digest <sha256:…>', 'the digest under the review that was read; another one approves nothing'),
    ],
    action: (options, [id = '']) => approve(cli, options, id),
  })
  addCommand<Decision>(approvals, exit, {
    name: 'deny',
    summary: 'refuse one call',
    args: ID,
    options: [...where(), reason()],
    action: async (options, [id = '']) => {
      await (await deskOf(cli, options)).decide(id, 'deny', reasonOf(options))
      return decided(cli, options, id, 'deny')
    },
  })
}

async function deskOf(cli: Cli, options: Where & CommonOptions): Promise<DeskClient> {
  const token = await findToken(cli, options)
  const url = await findApiUrl(cli, options)
  if (isExposed(url)) cli.console.note('warning: the token and the review cross the network unencrypted; use https://')
  return new DeskClient({ world: cli.world, url, token })
}

async function list(cli: Cli, options: Where & CommonOptions): Promise<number> {
  const held = await (await deskOf(cli, options)).list()
  if (options.json === true) for (const action of held) cli.console.result(jsonLine(action))
  else if (held.length === 0) cli.console.note('Nothing waits for a decision')
  else {
    const columns = columnsOf(cli)
    const rows = held.map((action) => [
      action.id,
      whoAsks(action),
      clientOf(action),
      expiryOf(action),
      oneLine(action.summary),
    ])
    const table = textTable([['ID', 'AGENT', 'CLIENT', 'EXPIRES', 'CALL'], ...rows])
    for (const line of table) cli.console.result(cut(line, columns))
    cli.console.note(`Everything of one: ${typed('approvals', 'show', 'ID', ...projectWords(options.project))}`)
  }
  return 0
}

const AGENT_COLUMNS_MAX = 16

/** The declared name where the server knows it; else the beginning of the principal, which --json gives as a whole. */
function whoAsks({ agent_id, asked_by }: HeldAction): string {
  return asked_by?.agent === undefined ? `${agent_id.slice(0, 8)}…` : oneLine(asked_by.agent, AGENT_COLUMNS_MAX)
}

const KEY_COLUMNS_MAX = 12

/** The key of a tool client, and how it came; nothing for a chat. */
function clientOf({ asked_by: { transport, key_id } = {} }: HeldAction): string {
  return [
    transport === undefined ? [] : [oneLine(transport, KEY_COLUMNS_MAX)],
    key_id === undefined ? [] : [oneLine(key_id, KEY_COLUMNS_MAX)],
  ]
    .flat()
    .join(' ')
}

/** Held calls live for minutes: the time of day says it, in UTC like everything that is shown. */
function expiryOf({ expires_at }: HeldAction): string {
  return `${expires_at.slice(11, 19)}Z`
}

async function show(cli: Cli, options: Where & CommonOptions, id: string): Promise<number> {
  const action = await (await deskOf(cli, options)).show(id)
  if (options.json === true) {
    cli.console.result(jsonLine({ ...action, review: reviewText(action), review_digest: reviewDigest(action) }))
    return 0
  }
  cli.console.result(reviewText(action).trimEnd())
  cli.console.result(`status: ${action.status}, digest: ${reviewDigest(action)}`)
  return 0
}

async function approve(cli: Cli, options: Decision & CommonOptions, id: string): Promise<number> {
  refuseUnseen(cli, options, id)
  const desk = await deskOf(cli, options)
  const action = await desk.show(id)
  const digest = reviewDigest(action)
  if (options.digest !== undefined && options.digest !== digest) {
    throw new Fault('INVALID_REQUEST', {
      message: `Cannot approve "${oneLine(id, 40)}": the digest is of another review`,
      hint: `Read it with ${typed('approvals', 'show', id, ...projectWords(options.project))}`,
    })
  }
  if (action.status === 'pending' && options.yes !== true && !(await isConfirmed(cli, action))) {
    cli.console.note('Nothing was decided')
    return NOT_DECIDED
  }
  await desk.decide(action.id, 'approve', { ...reasonOf(options), digest })
  return decided(cli, options, action.id, 'approve')
}

/** Without somebody who types there is nobody who read it, unless the digest says so. */
function refuseUnseen({ console }: Cli, { yes, digest, project }: Decision & CommonOptions, id: string): void {
  if (yes === true ? digest !== undefined : console.typed) return
  throw new Fault('USAGE', {
    message:
      yes === true
        ? 'Cannot approve without asking: --yes needs the digest of the review that was read'
        : 'Cannot ask for the approval: nobody types on standard input',
    hint: `Read it with ${typed('approvals', 'show', id, ...projectWords(project))}, then give --yes --digest with the digest there`,
  })
}

async function isConfirmed({ console }: Cli, action: HeldAction): Promise<boolean> {
  console.note(reviewText(action).trimEnd())
  console.note(
    `It expires at ${action.expires_at}. Type "approve ${action.id}" to approve it; anything else decides nothing:`,
  )
  for await (const line of console.lines()) return line === `approve ${action.id}`
  return false
}

function reasonOf({ reason }: Decision): { readonly reason?: string } {
  return reason === undefined ? {} : { reason }
}

function decided({ console }: Cli, { json }: CommonOptions, id: string, decision: 'approve' | 'deny'): number {
  if (json === true) console.result(jsonLine({ id, decision }))
  else console.result(`${decision === 'approve' ? 'Approved' : 'Denied'} ${oneLine(id, 40)}`)
  return 0
}
