/**
 * A guide that is followed as a person would: what it says is typed into the terminals that it names, and what it shows has to
 * appear. Values that are different each time (ids, digests, tokens, times) may differ from those in the guide, but a value
 * that stands in two places of the guide has to be the same in both.
 */
import type { InTerminal } from './pseudo-terminal.ts'

export interface Step {
  readonly terminal: string
  /** What the terminal shows last when it is time to type; empty where that does not matter. */
  readonly prompt: string
  /** Without its line end; `^D` is the end of the input. */
  readonly typed: string
  /** Lines. One that is `…` stands for any others. */
  readonly shows: readonly string[]
}

/** The steps of the blocks ```console and ```sh, in their order. `**Terminal NAME.**` before them says where. */
export function stepsIn(guide: string): readonly Step[] {
  const steps: (Step & { shows: string[] })[] = []
  let terminal = ''
  let block: string | null = null
  let prompt = ''
  for (const line of guide.split('\n')) {
    const fence = /^```(\w*)$/.exec(line)
    if (fence !== null) {
      block = block === null ? (fence[1] ?? '') : null
      prompt = '$ ' // before a whole piece of shell
    } else if (block === null) terminal = /^\*\*Terminal (\w+)\.\*\*/.exec(line)?.[1] ?? terminal
    else if (block === 'sh') {
      steps.push({ terminal, prompt, typed: line, shows: [] })
      prompt = ''
    } else if (block === 'console') {
      const [, before = '', typed = line] = TYPED.exec(line) ?? []
      if (TYPED.test(line)) steps.push({ terminal, prompt: before, typed, shows: [] })
      else steps.at(-1)?.shows.push(line)
    }
  }
  return steps
}

const PROMPT = '(?:\\$ |call> )*'
const TYPED = /^(\$ |call> )(.*)$|^approve [0-9a-f]{16}$/

/** What is another one each time, and is remembered: the same text in the guide is the same text on the screen. */
const VALUES =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\bsha256:[0-9a-f]{64}\b|\b[0-9a-f]{16}\b|\bdesk\.[\w-]{43}/g
const VALUE = '[\\w.:-]+'
/** Times and amounts that nobody remembers. A duration is not shown at all when it is very short. */
const DURATION = /(?: \+)?\d[\d.]* m?s\b/
const AMOUNT = /\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\dZ|[\d,]+ (?:bytes|records)|[\d.]+ KiB|\[1\] \d+|#\d+/
const SHOWN_WHEN_LONG = '(?: *\\+?[\\d.]+ m?s)?'
const LOOSE = new RegExp(`${DURATION.source}|${AMOUNT.source}`, 'g')

export class Follower {
  readonly #values = new Map<string, string>()
  readonly #behind = new Set<InTerminal>()

  /** Types the step, and waits until all that it shows has appeared. */
  async follow({ prompt, typed, shows }: Step, terminal: InTerminal): Promise<void> {
    if (prompt !== '') {
      // What works behind has written over the prompt, and Enter brings another.
      if (this.#behind.delete(terminal)) terminal.type('\n')
      await terminal.shown(new RegExp(`${escaped(prompt)}$`))
    }
    const from = terminal.screen().length
    const text = typed.replace(VALUES, (value) => this.#values.get(value) ?? value)
    terminal.type(typed === '^D' ? '\u0004' : `${text}\n`)
    if (typed.endsWith('&')) this.#behind.add(terminal)
    if (shows.length === 0) return
    const names: string[] = []
    const match = await terminal.shown(new RegExp(this.#pattern(shows, names)), from)
    for (const [at, name] of names.entries()) this.#values.set(name, match[at + 1] ?? '')
  }

  #pattern(lines: readonly string[], names: string[]): string {
    const parts = lines.map((line) => (line === '…' ? '(?:.*\\n)*?' : `${PROMPT}${this.#line(line, names)}\\n`))
    return `\\n${parts.join('')}`
  }

  #line(line: string, names: string[]): string {
    const pieces: string[] = []
    let last = 0
    for (const { 0: value, index } of line.matchAll(VALUES)) {
      pieces.push(plainPattern(line.slice(last, index)), this.#value(value, names))
      last = index + value.length
    }
    return [...pieces, plainPattern(line.slice(last))].join('')
  }

  #value(value: string, names: string[]): string {
    const known = this.#values.get(value)
    if (known !== undefined) return escaped(known)
    const at = names.indexOf(value)
    if (at !== -1) return `\\${at + 1}`
    names.push(value)
    return `(${VALUE})`
  }
}

function plainPattern(text: string): string {
  let pattern = ''
  let last = 0
  for (const { 0: loose, index } of text.matchAll(LOOSE)) {
    pattern += spaced(text.slice(last, index)) + looseShape(loose)
    last = index + loose.length
  }
  return pattern + spaced(text.slice(last))
}

function looseShape(text: string): string {
  if (new RegExp(`^(?:${DURATION.source})$`).test(text)) return SHOWN_WHEN_LONG
  const shape = escaped(text).replace(/\d(?:[\d,]|\\\.)*/g, '[\\d,.]+')
  // behind the number of a record, also where the guide shows none
  return text.startsWith('#') ? `${shape}${SHOWN_WHEN_LONG}` : shape
}

/** Where columns are filled up, their width is nothing to insist on. */
function spaced(text: string): string {
  return escaped(text).replace(/ {2,}/g, ' +').replace(/─+/g, '─+')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
