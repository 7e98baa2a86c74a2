/** The World of a real machine: the only place that touches Node's globals and its file, network and process modules. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { nodeClock } from './node-clock.ts'
import { nodeFiles } from './node-files.ts'
import type { World } from './world.ts'

export function nodeWorld(): World {
  return {
    clock: nodeClock(),
    random: { bytes: (count) => randomBytes(count) },
    files: nodeFiles(),
    net: {
      fetch: (input, init) => fetch(input, init),
      createServer: (limits, handler) =>
        createServer(
          {
            maxHeaderSize: limits.headerBytesMax,
            headersTimeout: limits.headersTimeoutMs,
            requestTimeout: limits.requestTimeoutMs,
            keepAliveTimeout: limits.keepAliveTimeoutMs,
            // Node looks for late requests this often; a limit means little when nobody looks until long after it.
            connectionsCheckingInterval: Math.min(30_000, limits.headersTimeoutMs),
          },
          handler,
        ),
    },
    processes: {
      pid: process.pid,
      platform: process.platform,
      usage: () => {
        const { user, system } = process.cpuUsage()
        return { memoryBytes: process.memoryUsage.rss(), cpuMicros: user + system }
      },
    },
    threads: { spare: Math.max(0, availableParallelism() - 1) },
  }
}
