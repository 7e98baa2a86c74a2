/** Opening a claim among 200,000 closed ones and among none. The closed ones are copies of one real claim under other names. */
import { copyFileSync, linkSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert, type JsonObject, newId } from '../src/core/index.ts'
import { type ClaimStore, fileClaims } from '../src/invocations/index.ts'
import { nodeWorld } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { chatProject } from './project.ts'
import { type Result, resultOf } from './result.ts'
import { compare, median, timed } from './rounds.ts'

export const claims: Bench = { name: 'claims', measure }

const world = nodeWorld()
const NEVER = new AbortController().signal
/** A file may have 65,000 names on the common file systems, and links are quickly made. */
const LINKS_A_FILE = 50_000

async function measure(context: Context): Promise<readonly Result[]> {
  const closed = context.quick ? 200 : 200_000
  const full = await storeWith(context, closed)
  const empty = await storeWith(context, 0)
  const opens = context.quick ? 3 : 60
  const perOpen = (store: ClaimStore) => async (): Promise<number> => {
    const spent: number[] = []
    for (let open = 0; open < opens; open += 1) spent.push(await openOne(store))
    return median(spent)
  }
  const compared = await compare(context, perOpen(full), perOpen(empty))
  return [
    resultOf({
      name: `open a claim among ${closed.toLocaleString('en')} closed ones`,
      ...compared,
      unit: 'ms',
      target: { of: 'ratio', bound: 'at most', limit: 1.2 },
    }),
  ]
}

/** Only the opening is measured; the claim is let go without a result. */
async function openOne(store: ClaimStore): Promise<number> {
  const request: JsonObject = { version: 1, content: 'bench' }
  const id = newId('invocation', world.random)
  const principal = newId('agent', world.random)
  let opened: Awaited<ReturnType<ClaimStore['open']>> | null = null
  const { wallMs } = await timed(async () => {
    opened = await store.open({ scope: 'ws:chat:v1', id, request, principal }, NEVER)
  })
  const claim = opened as Awaited<ReturnType<ClaimStore['open']>> | null
  assert(claim?.kind === 'Fresh', 'a measured claim is fresh')
  await claim.owner.release()
  return wallMs
}

async function storeWith(context: Context, closed: number): Promise<ClaimStore> {
  const project = chatProject(freshFolder(context, 'claims'))
  const store = fileClaims(world, project)
  await openOne(store) // makes the folder
  if (closed === 0) return store
  context.say(`making ${closed.toLocaleString('en')} closed claims`)
  const folder = join(project, '.symbiont', 'invocations')
  const original = readdirSync(folder).find((name) => name.endsWith('.jsonl'))
  assert(original !== undefined, 'a store with a claim holds its file')
  let source = ''
  for (let made = 0; made < closed; made += 1) {
    const name = join(folder, `${(made + 1).toString(16).padStart(64, '0')}.jsonl`)
    if (made % LINKS_A_FILE === 0) {
      copyFileSync(join(folder, original), name)
      source = name
    } else linkSync(source, name)
  }
  return store
}
