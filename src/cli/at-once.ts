/**
 * Loads the built module of a command at once. `import()` sends every file four times to Node's pool of threads and waits for
 * the answers, and `symbi up` has four hundred files; `require` reads them one after the other, which is sooner. Both fill one
 * table of modules: what was required is what `import()` finds, so there is one instance of each.
 */
import { createRequire } from 'node:module'

/** `path` as in the built program, from this folder. Does nothing where Node cannot require modules, or runs the sources. */
export function loadAtOnce(path: string): void {
  if (!import.meta.url.endsWith('.js') || process.features.require_module !== true) return
  createRequire(import.meta.url)(path)
}
