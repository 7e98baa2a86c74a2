/**
 * The routes of the approvals (http-api 5.6): what is held, the text to review, and the decision. Only an admin decides;
 * a scoped key sees what its own agents asked. Who decided is the key that came with the request, never what it says.
 */
import { type ApiKeys, type Caller, mayUse } from '../access/index.ts'
import type { ApprovalResolution } from '../calls/index.ts'
import { assert, Fault, fit, type Json, shapes } from '../core/index.ts'
import { type Approver, type HeldAction, type QueueChange, reviewDigest, reviewText } from '../policy/index.ts'
import type { Clock } from '../world/index.ts'
import { approvalStream } from './approval-stream.ts'
import type { Answer, Route, RouteRequest } from './mount.ts'

/** What these routes need of the queue. */
export interface ApprovalDesk {
  list(): readonly HeldAction[]
  recall(id: string): Promise<HeldAction | null>
  resolve(
    id: string,
    decision: { readonly decision: 'approve' | 'deny'; readonly reason?: string },
    approver: Approver,
  ): Promise<ApprovalResolution>
  subscribe(listener: (change: QueueChange) => void): () => void
}

/** In a list a longer snapshot is left out, and read with its own request. */
const LISTED_BYTES_MAX = 16 * 1024
const BODY_BYTES_MAX = 16 * 1024

/** Other members are ignored. `digest` names the review text that was seen; one that is not this action's decides nothing. */
const decisionShape = shapes.open({
  reason: shapes.optional(shapes.nullable(shapes.boundedText(0, 4096))),
  digest: shapes.optional(shapes.nullable(shapes.hash)),
})

export function approvalRoutes(desk: ApprovalDesk, keys: Pick<ApiKeys, 'isCurrent'>, clock: Clock): readonly Route[] {
  const path = '/api/v1/approvals'
  const stream = approvalStream(desk, clock)
  return [
    {
      method: 'GET',
      path,
      access: 'key',
      handle: async ({ caller }) => ({ status: 200, body: desk.list().filter(seenBy(caller)).map(listed) }),
    },
    {
      method: 'GET',
      path: `${path}/stream`,
      access: 'admin',
      handle: async ({ caller }) => stream(() => isCurrent(keys, caller)),
    },
    { method: 'GET', path: `${path}/:id`, access: 'key', handle: (request) => show(desk, request) },
    ...(['approve', 'deny'] as const).map(
      (decision): Route => ({
        method: 'POST',
        path: `${path}/:id/${decision}`,
        access: 'admin',
        body: 'optional',
        bodyBytesMax: BODY_BYTES_MAX,
        handle: (request) => decide(desk, decision, request),
      }),
    ),
  ]
}

async function show(desk: ApprovalDesk, { caller, params }: RouteRequest): Promise<Answer> {
  const action = await desk.recall(params.id ?? '')
  if (action === null || !seenBy(caller)(action)) throw notFound()
  return { status: 200, body: { ...action, review: reviewText(action), review_digest: reviewDigest(action) } }
}

async function decide(
  desk: ApprovalDesk,
  decision: 'approve' | 'deny',
  { caller, params, body }: RouteRequest,
): Promise<Answer> {
  const { reason, digest } = fit(decisionShape, body ?? {}, 'the decision')
  const id = params.id ?? ''
  if (digest != null) await refuseOther(desk, id, digest)
  await desk.resolve(id, { decision, ...(reason == null ? {} : { reason }) }, approverOf(caller))
  return { status: 200 }
}

/** An action never changes, so the digest of another text means that another action was looked at. */
async function refuseOther(desk: ApprovalDesk, id: string, digest: string): Promise<void> {
  const action = await desk.recall(id)
  if (action === null || action.status !== 'pending' || reviewDigest(action) === digest) return
  throw new Fault('INVALID_REQUEST', {
    message: 'Cannot decide about the held action: the digest is of another review text',
    hint: 'Read its review text, and give the digest that stands there',
  })
}

function approverOf(caller: Caller | null): Approver {
  assert(caller !== null, 'a route that is not public has a caller')
  const id = caller.key_id ?? 'operator'
  return { surface: 'rest', id, display: id }
}

async function isCurrent(keys: Pick<ApiKeys, 'isCurrent'>, caller: Caller | null): Promise<boolean> {
  return caller !== null && (await keys.isCurrent(caller).catch(() => false)) // a key file that cannot be read opens nothing
}

/** Others are not told that it exists. */
function seenBy(caller: Caller | null): (action: HeldAction) => boolean {
  return ({ agent_id }) => caller !== null && mayUse(caller, agent_id)
}

function listed(action: HeldAction): HeldAction {
  const isLong = JSON.stringify(action.context_snapshot satisfies Json).length > LISTED_BYTES_MAX
  return isLong ? { ...action, context_snapshot: null } : action
}

function notFound(): Fault {
  return new Fault('APPROVAL_NOT_FOUND', {
    message: 'Cannot show the held action: there is none with this id',
    hint: 'List what is held with "symbi approvals list" (GET /api/v1/approvals); a request that its asker gave up is kept in .symbiont/approvals/settled alone',
  })
}
