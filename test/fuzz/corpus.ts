/**
 * The corpus: inputs that each took a way of their own, a folder for each target, files named by their digest. Kept small,
 * because all of it is run by every `npm test`. Names that begin with `found-` are inputs that once broke a property; they
 * stay whatever way they take.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runOne } from './fuzzer.ts'
import type { Target } from './target.ts'

export const FILES_MAX = 72
export const BYTES_MAX = 32 * 1024

export interface Kept {
  readonly name: string
  readonly input: Uint8Array
}

export function nameOf(input: Uint8Array): string {
  return createHash('sha256').update(input).digest('hex').slice(0, 16)
}

/** In the order of their names; empty where nothing was kept yet. */
export function readCorpus(root: string, target: string): readonly Kept[] {
  const folder = join(root, target)
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names.sort().map((name) => ({ name, input: readFileSync(join(folder, name)) }))
}

/** Few inputs that take all ways between them, within the bounds of a corpus: each time the one that adds most, and is small. */
export async function distilled(target: Target, inputs: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  await using opened = await target.open()
  const left: { readonly input: Uint8Array; edges: readonly number[] }[] = []
  for (const input of [...inputs].sort((one, other) => one.length - other.length)) {
    left.push({ input, edges: (await runOne(target, opened, input)).edges })
  }
  const kept: Uint8Array[] = []
  let bytes = 0
  while (kept.length < FILES_MAX) {
    const best = left.reduce((most, one) => (one.edges.length > most.edges.length ? one : most), {
      input: NONE,
      edges: [],
    })
    if (best.edges.length === 0) break
    const taken = new Set(best.edges)
    for (const one of left) one.edges = one.edges.filter((edge) => !taken.has(edge))
    if (bytes + best.input.length > BYTES_MAX) continue
    kept.push(best.input)
    bytes += best.input.length
  }
  return kept
}

const NONE = new Uint8Array()

/** Puts these inputs in place of those that are there; what was found stays. */
export function writeCorpus(root: string, target: string, inputs: readonly Uint8Array[]): void {
  const folder = join(root, target)
  mkdirSync(folder, { recursive: true })
  const wanted = new Map(inputs.map((input) => [nameOf(input), input]))
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('found-') && !wanted.has(name)) rmSync(join(folder, name))
  }
  for (const [name, input] of wanted) writeFileSync(join(folder, name), input)
}
