/** The command, and the watch over inputs that never end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionsIn, targetNames } from '../../scripts/fuzz.mjs'
import { transpile } from '../../scripts/instrument.mjs'
import { ROOT } from '../support/sources.ts'
import { areWaysLeft, main } from './main.ts'
import { TARGETS } from './targets.ts'

async function run(...argv: string[]): Promise<{ code: number; lines: string[]; notes: string[] }> {
  const lines: string[] = []
  const notes: string[] = []
  const code = await main(optionsIn(argv), ROOT, {
    result: (line) => lines.push(line),
    note: (line) => notes.push(line),
  })
  return { code, lines, notes }
}

test('"--runs" and "--seed" try so many inputs, and the table tells what came of it', async () => {
  const { code, lines, notes } = await run('--target', 'chat-frame', '--runs', '50', '--seed', '3')
  expect(code).toBe(0)
  expect(notes[0]).toBe('fuzz: seed 3')
  expect(lines[0]).toMatch(/^target +runs +inputs +kept +bytes +edges +steps\/byte +findings$/)
  expect(lines[1]).toMatch(/^chat-frame +\d+ .* 0$/)
})

test('a hunt whose corpus takes hardly any way is none; one of which some inputs came together is', () => {
  expect([areWaysLeft(72, 1), areWaysLeft(72, 35), areWaysLeft(72, 36), areWaysLeft(0, 0)]).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('"--replay" runs one file, and says whether the property holds for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'symbi-fuzz-'))
  try {
    const file = join(folder, 'input')
    writeFileSync(file, '{"a":1}')
    const { code, lines } = await run('--target', 'strict-json', '--replay', file)
    expect(code).toBe(0)
    expect(lines).toEqual(['strict-json: the property holds for these 7 bytes, in 0 steps'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.each([
  [['--target', 'dreams'], 'Cannot fuzz "dreams": there is no such target', /^The targets are .*strict-json/],
  [['--seconds', 'many'], 'Cannot use --seconds "many": it is no whole number from 1 on', undefined],
  [['--seconds', '5', '--runs', '5'], 'one of them says when it is over', undefined],
  [['--replay', 'x'], '--replay needs the one --target', /^The targets are .*strict-json/],
  [
    ['--target', 'strict-json', '--replay', '/nope'],
    'Cannot run "/nope" again: it cannot be read (ENOENT)',
    /^Findings/,
  ],
  [['--fast'], '--fast', /^The flags are --target, .*--grow$/],
])('%j is refused with 64 before anything is compiled', (argv, reason, hint) => {
  const told = hint === undefined ? hint : expect.stringMatching(hint)
  const refusal = { exit: 64, message: expect.stringContaining(reason), hint: told }
  expect(() => optionsIn(argv)).toThrow(expect.objectContaining(refusal))
})

test('the names that the command knows before it is compiled are those of the targets', () => {
  expect(targetNames().sort()).toEqual(TARGETS.map(({ name }) => name).sort())
})

test('the corpus is written only by a hunt that is asked to make it grow', async () => {
  const root = mkdtempSync(join(tmpdir(), 'symbi-fuzz-'))
  const corpus = join(root, 'test', 'fuzz', 'corpus')
  const argv = ['--target', 'chat-frame', '--runs', '50', '--seed', '3']
  const output = { result: () => undefined, note: () => undefined }
  try {
    expect(await main(optionsIn(argv), root, output)).toBe(0)
    expect(existsSync(corpus)).toBe(false)
    expect(await main(optionsIn([...argv, '--grow']), root, output)).toBe(0)
    expect(readdirSync(corpus)).toEqual(['chat-frame'])
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('an input that does not end is left in a file, and the process ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'symbi-fuzz-'))
  try {
    const watchdog = readFileSync(join(ROOT, 'test', 'fuzz', 'watchdog.ts'), 'utf8')
    writeFileSync(join(folder, 'watchdog.mjs'), transpile(watchdog, 'watchdog.ts', null))
    const program = `
      import { startWatchdog } from './watchdog.mjs'
      const watchdog = startWatchdog({ file: 'hung', says: 'it hangs', bytesMax: 16, patienceMs: 100 })
      watchdog.before(Buffer.from('ends'))
      watchdog.before(Buffer.from('never ends'))
      for (;;);
    `
    writeFileSync(join(folder, 'program.mjs'), program)
    const child = spawn(process.execPath, ['program.mjs'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += String(chunk)
    })
    const [, signal] = await once(child, 'close')
    expect(signal).toBe('SIGKILL')
    expect(said).toContain('it hangs')
    expect(readFileSync(join(folder, 'hung'), 'utf8')).toBe('never ends')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
