/** What a dead process left of its held actions: up to three files, in whatever state. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digest, isFault } from '../../../src/core/index.ts'
import { ApprovalQueue } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { answerOf, must, type Opened, presentable, type Target } from '../target.ts'

const ID = '0123456789abcdef'
const OWNER = 'fedcba9876543210'
const action = {
  id: ID,
  agent_id: '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10',
  kind: 'tool_call',
  summary: 'look',
  reason: 'it needs an approval',
  context_snapshot: { approval_id: ID },
  created_at: '2026-03-04T10:11:12.131Z',
  expires_at: '2026-03-04T10:16:12.131Z',
  status: 'pending',
}
const request = { version: 1, action, use: 'waits', subject: digest('call'), session: digest('session'), run: 'run' }
const decision = {
  decision: 'approve',
  reason: null,
  approver: { surface: 'rest', id: 'a', display: 'a' },
  at: action.created_at,
}
const end = { version: 1, request, decision, ended: 'approved', at: action.created_at, spent_for: null }
const lines = (...values: readonly unknown[]): string =>
  values.map((value) => (value === null ? '' : JSON.stringify(value))).join('\n')

/** The lines of an input: the request, the decision, the end of an action; an empty one is a file that is not there. */
export const approvalFiles: Target = {
  name: 'approval-files',
  property:
    'a queue opens over whatever was left; nothing of it waits any more, only a whole decision to approve is shown as approved, what cannot be read stays byte for byte and is told, and to open once more changes nothing',
  seeds: [
    lines(request),
    lines(request, decision),
    lines({ ...request, use: 'presented' }, decision),
    lines(request, { ...decision, decision: 'deny', reason: 'no' }),
    lines(request, decision, end),
    lines(null, null, { ...end, ended: 'withdrawn' }),
    lines(null, decision),
    lines({ ...request, action: { ...action, id: 'ffffffffffffffff', status: 'approved' } }),
  ],
  words: [
    '\n',
    '"use":"presented"',
    '"use":"waits"',
    '"decision":"approve"',
    '"decision":"deny"',
    '"ended":"spent"',
    '"ended":"withdrawn"',
    '"status":"approved"',
    'null',
    ID,
  ],
  bytesMax: 4096,
  steps: { fixed: 40_000, perByte: 100 },
  open: () => {
    const root = mkdtempSync(join(tmpdir(), 'symbi-fuzz-'))
    return {
      run: (input) => check(input, root),
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true, force: true }),
    } satisfies Opened
  },
}

async function check(input: Uint8Array, root: string): Promise<void> {
  const folder = join(root, 'approvals')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'held'), { recursive: true, mode: 0o700 })
  const left = partsOf(input)
  for (const [name, bytes] of left) writeFileSync(join(folder, 'held', name), bytes, { mode: 0o600 })
  const told = await opened(folder, left)
  const before = told.reports.length === 0 ? null : snapshot(folder)
  const again = await opened(folder, left)
  must(again.status === null || again.status === told.status, 'to open once more shows nothing else')
  if (before !== null) must(snapshot(folder) === before, 'what cannot be read stays as it is')
}

async function opened(
  folder: string,
  left: readonly (readonly [string, Uint8Array])[],
): Promise<{ status: string | null; reports: readonly unknown[] }> {
  const reports: unknown[] = []
  const read = await answerOf(() =>
    ApprovalQueue.open(nodeWorld(), folder, { report: (_, error) => void reports.push(error) }),
  )
  must(read.kind === 'Value', 'a queue opens over whatever was left')
  await using queue = read.value
  for (const error of reports)
    must(
      isFault(presentable(error), 'EVIDENCE_INVALID', 'STORAGE_UNSAFE', 'FILE_TOO_LARGE'),
      'a report has one of three codes',
    )
  must(queue.list().length === 0, 'nothing of another process waits')
  const recalled = await answerOf(() => queue.recall(ID))
  if (recalled.kind === 'Fault') {
    must(isFault(recalled.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
    return { status: 'unreadable', reports }
  }
  const status = recalled.value?.status ?? null
  must(status !== 'pending', 'what another process held is over')
  const approving = left.some(([, bytes]) => /"(?:approve|approved|spent)"/.test(unescaped(bytes)))
  must(status !== 'approved' || approving, 'nothing is approved that nobody approved')
  return { status, reports }
}

/** With the escapes of ASCII letters undone, so that a word is found however it is written. */
function unescaped(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/\\u00([2-7][0-9a-fA-F])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function partsOf(input: Uint8Array): readonly (readonly [string, Uint8Array])[] {
  const names = [`${OWNER}.${ID}.json`, `${OWNER}.${ID}.decision.json`, `${OWNER}.${ID}.end.json`]
  const parts: [string, Uint8Array][] = []
  let from = 0
  for (const [index, name] of names.entries()) {
    const newline = index === names.length - 1 ? -1 : input.indexOf(0x0a, from)
    const to = newline === -1 ? input.length : newline
    if (to > from) parts.push([name, input.subarray(from, to)])
    from = to + 1
    if (newline === -1) break
  }
  return parts
}

function snapshot(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map((entry) => `${entry.name} ${readFileSync(join(entry.parentPath, entry.name), 'hex')}`)
    .sort()
    .join('\n')
}
