/** The World of a real machine: the only place that touches Node's globals and its file, network and process modules. */
import { randomBytes, randomFillSync } from 'node:crypto'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { nodeClock } from './node-clock.ts'
import { nodeFiles } from './node-files.ts'
import { spawnChild } from './node-processes.ts'
import { request, resolve } from './node-requests.ts'
import { nodeTerminal } from './node-terminal.ts'
import { startSideThread } from './side-thread.ts'
import type { Random, World } from './world.ts'

export function nodeWorld(): World {
  return {
    clock: nodeClock(),
    random: nodeRandom(),
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
            requireHostHeader: false, // the server refuses its absence itself, in the form of all its refusals
            // Node looks for late requests this often; a limit means little when nobody looks until long after it.
            connectionsCheckingInterval: Math.min(30_000, limits.headersTimeoutMs),
          },
          handler,
        ),
      resolve,
      request,
    },
    processes: {
      pid: process.pid,
      platform: process.platform,
      usage: () => {
        const { user, system } = process.cpuUsage()
        return { memoryBytes: process.memoryUsage.rss(), cpuMicros: user + system }
      },
      spawn: spawnChild,
      terminal: nodeTerminal,
    },
    threads: { spare: Math.max(0, availableParallelism() - 1), start: startSideThread },
  }
}

const STOCK_BYTES = 4096
/** Ids take 16; keys and tokens take 32 and get bytes that lay nowhere before. */
const FROM_STOCK_MAX = 16

/** Ids are made several times a call, and asking the system for a few bytes costs far more than copying them. */
function nodeRandom(): Random {
  const stock = Buffer.alloc(STOCK_BYTES)
  let taken = STOCK_BYTES
  return {
    bytes: (count) => {
      if (count > FROM_STOCK_MAX) return randomBytes(count)
      if (taken + count > STOCK_BYTES) {
        randomFillSync(stock)
        taken = 0
      }
      const bytes = new Uint8Array(count)
      for (let at = 0; at < count; at += 1, taken += 1) {
        bytes[at] = stock[taken] as number
        stock[taken] = 0
      }
      return bytes
    },
  }
}
