/** Places on a simulated disk: what is held stays the same thing, whatever its name leads to by now. */
import { assert } from '../../../core/index.ts'
import type { FileFacts, OpenFile, Place } from '../../../world/index.ts'
import type { DiskParts } from './disk.ts'
import type { Holding } from './holdings.ts'
import type { Inode } from './inode.ts'
import { SimOpenFile } from './sim-open-file.ts'
import { namesOf } from './tree.ts'
import type { Owner } from './turns.ts'

export async function openSimPlace(parts: DiskParts, owner: Owner, path: string): Promise<Place | null> {
  assert(`/${namesOf(path).join('/')}` === path, 'a place is named by an absolute path in its one form')
  return await parts.steps.take(owner, `place ${path}`, 0, () => {
    let at: Inode = parts.tree.root
    for (const name of namesOf(path)) {
      const next: Inode | undefined = at.kind === 'directory' ? at.entries.get(name) : undefined
      if (next === undefined) return null
      at = next
    }
    return new SimPlace(parts, parts.holdings.hold(owner, path, at))
  })
}

class SimPlace implements Place {
  readonly facts: FileFacts
  readonly device = 1n
  readonly mount = null
  readonly #parts: DiskParts
  readonly #holding: Holding
  readonly #asked = new Set<Promise<unknown>>()
  #closed: Promise<void> | null = null

  constructor(parts: DiskParts, holding: Holding) {
    this.#parts = parts
    this.#holding = holding
    this.facts = parts.tree.factsOf(holding.inode)
  }

  step(name: string): Promise<Place | null> {
    assert(this.facts.kind === 'directory', 'only a folder has names below it')
    assert(isName(name), 'a step is one name, and leads downwards')
    const { steps, holdings } = this.#parts
    const { owner, path, inode } = this.#holding
    return this.#ask(
      steps.take(owner, `step ${path}/${name}`, 0, () => {
        const next = inode.kind === 'directory' ? inode.entries.get(name) : undefined
        if (next === undefined) return null
        return new SimPlace(this.#parts, holdings.hold(owner, `${path}/${name}`, next))
      }),
    )
  }

  list(countMax: number): Promise<{ readonly names: readonly string[]; readonly more: boolean }> {
    assert(this.facts.kind === 'directory', 'only a folder has names below it')
    const { steps } = this.#parts
    const { owner, path, inode } = this.#holding
    const does = (): { readonly names: readonly string[]; readonly more: boolean } => {
      const names = inode.kind === 'directory' ? steps.inNoOrder([...inode.entries.keys()]) : []
      return { names: names.slice(0, countMax), more: names.length > countMax }
    }
    return this.#ask(steps.perform(owner, 'list', path, { does }))
  }

  open(): Promise<OpenFile> {
    assert(this.facts.kind === 'file', 'only a regular file is opened')
    const { steps, holdings } = this.#parts
    const { owner, path, inode } = this.#holding
    return this.#ask(
      steps.perform<OpenFile>(owner, 'open', path, {
        does: () => new SimOpenFile(this.#parts, holdings.hold(owner, path, inode), 'read'),
        late: () => undefined,
      }),
    )
  }

  close(): Promise<void> {
    const { steps, holdings } = this.#parts
    const { owner, path } = this.#holding
    this.#closed ??= Promise.allSettled(this.#asked).then(() =>
      steps.take(owner, `close ${path}`, 0, () => holdings.release(this.#holding)),
    )
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #ask<T>(answer: Promise<T>): Promise<T> {
    assert(this.#closed === null, 'a place that was let go is asked nothing')
    this.#asked.add(answer)
    const forget = (): void => void this.#asked.delete(answer)
    answer.then(forget, forget)
    return answer
  }
}

function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
}
