import { expect, test } from 'vitest'
import { pathsIn } from '../../src/cli/project/project-paths.ts'
import { projectAt } from '../../src/runtime/index.ts'

test('the commands that only look know the layout that the runtime writes', () => {
  expect(pathsIn('/srv/project')).toMatchObject(projectAt('/srv/project'))
})
