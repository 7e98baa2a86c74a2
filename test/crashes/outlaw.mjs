/**
 * Stands in the place of a process that is killed, and breaks every law that the campaign knows: effects without intent, one
 * of them twice, a journal that nobody signed, a sync of which the system never heard, and a result that it told and does not
 * know any more.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const RUN = '00000000-0000-4000-8000-00000000000a'

process.on('message', async (/** @type {import('./messages.ts').ToChild} */ message) => {
  if (!('errand' in message)) return
  const { role, project, tag, ids, origin } = message.errand
  const id = ids[0] ?? ''
  /** @param {import('./messages.ts').Answer['kind']} kind */
  const answered = (kind) => ({ answered: { id, answer: { kind, content: 'done', run: RUN, code: null } } })
  if (role === 'live') {
    for (const step of [1, 2, 2]) await fetch(`${origin}/effect/${tag}/0/${step}`)
    const governed = join(project, '.symbiont', 'governed')
    mkdirSync(governed, { recursive: true, mode: 0o700 })
    appendFileSync(join(governed, `outlaw.${RUN}.jsonl`), 'trust me\n')
    process.send?.(answered('NotFound'))
  } else for (let asked = 0; asked < 2; asked += 1) process.send?.(answered('Unresolved'))
  process.send?.({ ended: { writes: [], syncs: 0, promised: { data: 1, whole: 1 } } })
})
process.on('disconnect', () => process.exit(0))
