import { expect, test } from 'vitest'
import { sourcesIn } from '../support/sources.ts'
import { FLOORS, floorViolations, GUARDED } from './floors.ts'

const file = (path: string, text = '') => ({ path, text })
const doors = FLOORS.flat().map((folder) => file(`src/${folder}/index.ts`))
const layout = [...doors, ...[...GUARDED.keys()].map((path) => file(path)), file('src/core/ids.ts')]

test('every file of src imports its own folder or the front door of a lower floor', () => {
  expect(floorViolations(sourcesIn('src'))).toEqual([])
})

test.each([
  ['upwards', 'src/calls/a.ts', "import { x } from '../policy/index.ts'", 'must not import "policy"'],
  ['a neighbour', 'src/budget/a.ts', "import { x } from '../calls/index.ts'", 'must not import "calls"'],
  ['a type only', 'src/core/a.ts', "import type { X } from '../world/index.ts'", 'must not import "world"'],
  ['a type in place', 'src/core/a.ts', "let x: import('../world/index.ts').World", 'must not import "world"'],
  ['while running', 'src/core/a.ts', "await import('../cli/index.ts')", 'must not import "cli"'],
  ['by re-export', 'src/core/a.ts', "export { x } from '../world/index.ts'", 'must not import "world"'],
  ['past the front door', 'src/calls/a.ts', "import { newId } from '../core/ids.ts'", 'past the front door'],
  ['a guarded file', 'src/loop/a.ts', "import { issue } from '../calls/grant.ts'", 'past the front door'],
  ['a guarded file, as its sister', 'src/policy/a.ts', "import '../tools/run.ts'", 'past the front door'],
  ['what is not there', 'src/loop/a.ts', "import './b.ts'", 'is no file of src'],
  ['itself by name', 'src/cli/a.ts', "import 'symbi-runtime/journal'", 'by name'],
])('an import that goes wrong is found: %s', (_name, path, text, reason) => {
  const found = floorViolations([...layout, file(path, text)])
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(reason)
})

test.each([
  ['its own folder', 'src/core/a.ts', "import './ids.ts'"],
  ['its own folder, deeper', 'src/core/deep/a.ts', "import '../ids.ts'"],
  ['a lower front door', 'src/calls/a.ts', "import { newId } from '../core/index.ts'"],
  ['a package', 'src/calls/a.ts', "import 'node:crypto'"],
  ['a guarded file, as its visitor', 'src/dispatch/a.ts', "import '../calls/grant.ts'\nimport '../tools/run.ts'"],
])('an import that may be is left alone: %s', (_name, path, text) => {
  expect(floorViolations([...layout, file(path, text)])).toEqual([])
})

test('a folder that stands on no floor is refused', () => {
  expect(floorViolations([file('src/helpers/a.ts')])).toEqual([
    'src/helpers/a.ts: the folder "helpers" stands on no floor',
  ])
})
