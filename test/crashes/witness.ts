/**
 * Counts effects from outside, in a process that outlives everybody. Each effect is a request, and at the moment it comes the
 * witness reads the journals as they lie on disk and judges by itself whether this effect was allowed to happen.
 *
 *     /effect/PROJECT/…   an effect: one line `{"path":…,"objection":…}` is printed, and then it is answered
 *     /settled/PROJECT    is answered when what came before was judged and printed, with the number of its effects
 *
 * The argument is the folder of the projects. Prints its port first, and at the end of its input how many effects it counted.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { journalsOf, objectionTo, publicKeyOf, spentIn } from './evidence.ts'

const [base = ''] = process.argv.slice(2)
let count = 0
const counts = new Map<string, number>()
const judging = new Set<Promise<void>>()

const server = createServer(async ({ url = '' }, response) => {
  const [, what, project = ''] = url.split('/')
  if (what === 'effect') {
    count += 1
    counts.set(project, (counts.get(project) ?? 0) + 1)
    const judged = judge(url)
    judging.add(judged)
    await judged
    judging.delete(judged)
    response.end(`counted ${url}`)
    return
  }
  await new Promise(setImmediate) // requests of the dead may lie in their sockets
  await Promise.all(judging)
  response.end(String(counts.get(project) ?? 0))
})

async function judge(url: string): Promise<void> {
  let objection: string | null
  try {
    const project = join(base, url.split('/')[2] ?? '')
    objection = objectionTo(url, await journalsOf(project, await publicKeyOf(project)), spentIn(project))
  } catch (error) {
    objection = `the evidence cannot be read: ${String(error)}`
  }
  process.stdout.write(`${JSON.stringify({ path: url, objection })}\n`)
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
process.stdin.resume().on('end', () => {
  process.stdout.write(`counted ${count}\n`)
  server.closeAllConnections()
  server.close()
})
