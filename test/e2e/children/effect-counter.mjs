/**
 * Counts effects from outside: a server of its own process, which prints a line for every request in the moment it comes.
 * The path says how the request ends:
 *
 *     /effect/MARK   is answered at once
 *     /hold/MARK     is answered when "release" is read, or never
 *     /cut/MARK      is counted, and the connection is cut without an answer
 *
 * Prints its port first. At the end of its input it prints how many requests it counted, and leaves.
 */
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

let count = 0
/** @type {Set<() => void>} */
const held = new Set()

const server = createServer(({ method, url = '' }, response) => {
  count += 1
  process.stdout.write(`${method} ${url}\n`)
  const answer = () => void response.end(`counted ${url}`)
  if (url.startsWith('/cut/')) response.socket?.destroy()
  else if (url.startsWith('/hold/')) held.add(answer)
  else answer()
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${/** @type {import('node:net').AddressInfo} */ (server.address()).port}\n`)
})

createInterface({ input: process.stdin })
  .on('line', () => {
    for (const answer of held) answer()
    held.clear()
  })
  .on('close', () => {
    process.stdout.write(`counted ${count}\n`)
    server.closeAllConnections()
    server.close()
  })
