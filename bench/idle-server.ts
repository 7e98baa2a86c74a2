/**
 * A server that does nothing, in a process of its own, for the measurement of idle sockets: it says where it listens, and
 * after each line on standard input how much memory it holds once its garbage is collected.
 */
import { createInterface } from 'node:readline'
import { openRuntime, serve } from '../src/runtime/index.ts'
import { chatProject } from './project.ts'
import { chatModel } from './workload.ts'

const [folder, token] = process.argv.slice(2)
if (folder === undefined || token === undefined) throw new Error('idle-server takes a folder and a token')

const runtime = await openRuntime({ project: chatProject(folder), provider: chatModel() })
const service = await serve(runtime, {
  port: 0,
  log: { write: () => undefined },
  legacyToken: token,
  rateLimit: null, // all sockets come from one address at once
})
say({ chatUrl: service.server.chatUrl })
for await (const _line of createInterface({ input: process.stdin })) {
  globalThis.gc?.()
  globalThis.gc?.()
  say({ bytes: process.memoryUsage.rss(), connections: service.server.connections })
}
await service.close({ drainMs: 0 })

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
