import { execFileSync } from 'node:child_process'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { redact, stderrLog } from '../../src/server/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

test('redaction reaches every level, by name and by text, and leaves the rest', () => {
  const facts = {
    key_id: 'fixture',
    token: 'a',
    deep: { deeper: [{ Authorization: 'Bearer abc.def', apiKey: 'x', 'api-key': 1, cookie: null }] },
    text: 'GET /ws/chat?token=abc&x=1 with Bearer abc.def and ticket=zzz',
    error: new Error('refused ?session=abc'),
    count: 3n,
  }
  const text = JSON.stringify(redact(facts))
  expect(text).not.toMatch(/abc|zzz|"x"/)
  expect(JSON.parse(text)).toMatchObject({
    key_id: 'fixture',
    token: '[redacted]',
    deep: { deeper: [{ Authorization: '[redacted]', apiKey: '[redacted]', cookie: null }] },
    text: 'GET /ws/chat?[redacted]&x=1 with [redacted] and [redacted]',
    count: '3',
  })
})

test('a value that contains itself is cut and not followed for ever', () => {
  const loop: { self?: unknown } = {}
  loop.self = loop
  expect(JSON.stringify(redact(loop))).toContain('[deeper]')
})

test('the log is one JSON object a line, at or above its level, and flush() writes what is held', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'symbi-log-'))
  const file = await open(join(folder, 'stderr'), 'w+')
  const log = await stderrLog('info', nodeWorld(), file.fd)
  log.write('debug', 'unseen')
  for (let count = 0; count < 100; count += 1) log.write('info', 'request', { count, token: 'secret-text' })
  await log.flush()
  const text = await readFile(join(folder, 'stderr'), 'utf8')
  await file.close()
  await rm(folder, { recursive: true })
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map((line) => line.count)).toEqual(Array.from({ length: 100 }, (_, index) => index))
  expect(lines[0]).toEqual({
    level: 30,
    time: expect.stringMatching(/Z$/),
    event: 'request',
    count: 0,
    token: '[redacted]',
  })
})

test('flush() waits for no line that was not logged, and not for ever for a reader that takes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'symbi-log-'))
  execFileSync('mkfifo', [join(folder, 'stderr')])
  const pipe = await open(join(folder, 'stderr'), 'r+')
  const waits: number[] = []
  const real = nodeWorld()
  const timer = (ms: number, callback: () => void): (() => void) => {
    waits.push(ms)
    queueMicrotask(callback)
    return () => undefined
  }
  const log = await stderrLog('info', { ...real, clock: { ...real.clock, timer } }, pipe.fd)
  log.write('debug', 'unseen')
  await log.flush()
  expect(waits).toEqual([])
  for (let count = 0; count < 200; count += 1) log.write('info', 'request', { text: 'x'.repeat(1000) }) // a pipe holds 64 KiB
  await log.flush()
  expect(waits).toEqual([1000])
  let text = ''
  for (const piece = Buffer.alloc(65_536); text.split('\n').length <= 200; ) {
    const { bytesRead } = await pipe.read(piece)
    text += piece.toString('latin1', 0, bytesRead)
  }
  await pipe.close()
  await rm(folder, { recursive: true })
})
