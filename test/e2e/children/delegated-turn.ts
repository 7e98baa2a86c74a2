/**
 * One delegated turn in a process of its own, which ends itself at the write it was told. It is loaded first and told its
 * turn by one line on stdin, so that the next process can be loaded while others work. What it was spared for, it prints:
 * the writes that it made, and how many of them came before the cancellation.
 */
import { once } from 'node:events'
import { isFault } from '../../../src/core/index.ts'
import { openRuntime } from '../../../src/runtime/runtime.ts' // not the front door: a server would be loaded for nothing
import { CONTENT, countedApi, delegatingModel } from '../../support/delegated-turn.ts'
import { type KillPoint, killingWorld } from '../../support/killing-world.ts'

export interface Errand {
  readonly project: string
  readonly invocation: string
  /** Where the effect goes. */
  readonly url: string
  readonly point: KillPoint | null
  /** `cancel`: the runtime is closed while the reviewer waits for its model. `stall`: the reviewer waits for ever. */
  readonly mode: 'answer' | 'cancel' | 'stall'
}

const [line] = await once(process.stdin, 'data')
process.stdin.pause()
const { project, invocation, url, point, mode } = JSON.parse(String(line)) as Errand
const world = killingWorld(point)
let before = 0
const runtime = await openRuntime({
  project,
  world,
  api: countedApi(url, invocation),
  provider: delegatingModel(async (signal) => {
    if (mode === 'answer') return
    before = world.writes.length
    if (mode === 'cancel') void runtime.close()
    else say('waiting')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }),
})
const outcome = await runtime.ask(CONTENT, { id: invocation }).then(
  ({ content }) => content,
  (error: unknown) => (isFault(error) ? error.code : String(error)),
)
await runtime.close()
say(JSON.stringify({ outcome, writes: world.writes, before }))

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
