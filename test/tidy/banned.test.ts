import { expect, test } from 'vitest'
import { sourcesIn } from '../support/sources.ts'
import { bannedIn } from './banned.ts'

const namesIn = (text: string, path = 'src/loop/a.ts') => bannedIn([{ path, text }]).map(({ banned }) => banned)

test('nothing outside src/world reaches past the World', () => {
  const found = bannedIn(sourcesIn('src'))
  expect(found.map(({ place, banned, instead }) => `${place} uses ${banned}; write ${instead}`)).toEqual([])
})

test.each([
  ['Date.now()', 'Date.now'],
  ['new Date()', 'Date'],
  ['Date()', 'Date'],
  ['const clock = Date', 'Date'],
  ['class Later extends Date {}', 'Date'],
  ['const { now } = Date', 'Date'],
  ["Date['now']()", 'Date'],
  ['Math.random()', 'Math.random'],
  ['const { random } = Math', 'Math'],
  ['setTimeout(() => 1, 5)', 'setTimeout'],
  ['const later = { setTimeout }', 'setTimeout'],
  ['setInterval(tick, 5)', 'setInterval'],
  ['setImmediate(tick)', 'setImmediate'],
  ['AbortSignal.timeout(5)', 'AbortSignal.timeout'],
  ['performance.now()', 'performance'],
  ['process.exit(1)', 'process'],
  ['if (process.env.HOME) run()', 'process'],
  ['typeof process', 'process'],
  ['await fetch(url)', 'fetch'],
  ['call(fetch)', 'fetch'],
  ['const f = (get = fetch) => get', 'fetch'],
  ['new WebSocket(url)', 'WebSocket'],
  ['console.log(1)', 'console'],
  ['crypto.randomUUID()', 'crypto'],
  ['globalThis.fetch(url)', 'globalThis'],
  ["globalThis['set' + 'Timeout']", 'globalThis'],
  ["new Function('return 1')", 'Function'],
  ["import { readFile } from 'node:fs/promises'", 'node:fs'],
  ["import fs from 'fs'", 'node:fs'],
  ["import * as net from 'node:net'", 'node:net'],
  ["import 'node:child_process'", 'node:child_process'],
  ["import { type Server, createServer } from 'node:http'", 'node:http'],
  ["import { request } from 'node:https'", 'node:https'],
  ["import { cpus } from 'node:os'", 'node:os'],
  ["import { setTimeout as wait } from 'node:timers/promises'", 'node:timers'],
  ["import { env } from 'node:process'", 'node:process'],
  ["import { Worker } from 'node:worker_threads'", 'node:worker_threads'],
  ["export { spawn } from 'node:child_process'", 'node:child_process'],
  ["const fs = await import('node:fs')", 'node:fs'],
  ["const fs = require('fs')", 'node:fs'],
  ["const fs = createRequire(import.meta.url)('node:fs')", 'node:fs'],
  ["import { createHash, randomBytes } from 'node:crypto'", 'node:crypto randomBytes'],
  ["import { randomUUID as id } from 'node:crypto'", 'node:crypto randomUUID'],
  ["import { generateKeyPairSync } from 'node:crypto'", 'node:crypto generateKeyPairSync'],
  ["import * as crypto from 'node:crypto'", 'node:crypto as a whole'],
  ["import crypto from 'node:crypto'", 'node:crypto as a whole'],
])('a planted violation is found: %s', (text, banned) => {
  expect(namesIn(text)).toEqual([banned])
})

test.each([
  '// Date.now() and process.env',
  "const text = 'setTimeout(1)' + `fetch console.log`",
  "fail('node')\nopen('fs')",
  'world.processes.pid + options.process.id + this.fetch(url)',
  'const { fetch } = world.net\nawait fetch(url)',
  'function ask(fetch: Fetch) { return fetch(url) }',
  "import { process } from './steps.ts'\nprocess(entry)",
  'const limits = { process: 1, console: 2 }',
  'let when: Date\nlet f: typeof fetch\nlet p: NodeJS.Process',
  'new Date(ms).toISOString() + Date.parse(text) + Date.UTC(2020)',
  'Math.max(1, Math.floor(Math.PI))',
  'AbortSignal.any([a, b])',
  'if (value instanceof Date) stop()',
  "import { createHash, sign, timingSafeEqual } from 'node:crypto'",
  "import type { IncomingMessage } from 'node:http'",
  "import { type Stats, type Dirent } from 'node:fs'",
  "import type { Worker } from 'node:worker_threads'",
  'class Reader { process() { return 1 } }',
])('what is innocent is left alone: %s', (text) => {
  expect(namesIn(text)).toEqual([])
})

test('a name that one function declares is still a global in the next', () => {
  expect(namesIn('function a(fetch: Fetch) { fetch(1) }\nfunction b() { fetch(2) }')).toEqual(['fetch'])
})

test('src/world may do anything, and src/cli may use process but no more', () => {
  const text = 'process.argv\nDate.now()'
  expect(namesIn(text, 'src/world/node-clock.ts')).toEqual([])
  expect(namesIn(text, 'src/cli/main.ts')).toEqual(['Date.now'])
  expect(namesIn(text, 'src/testing/sim.ts')).toEqual(['process', 'Date.now'])
})

test('a violation is told with its place and the way out', () => {
  const text = '\nconst now = Date.now()'
  expect(bannedIn([{ path: 'src/loop/a.ts', text }])).toEqual([
    { place: 'src/loop/a.ts:2', banned: 'Date.now', instead: 'world.clock.wall, or timestampOf' },
  ])
})
