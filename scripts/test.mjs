/** `npm test`: installs what is missing, then checks everything. CI runs this and nothing else. */
import { requireNode } from '../bin/node-version.js'
import { check } from './check.mjs'
import { installMissing } from './install.mjs'
import { ROOT, whenProgram } from './steps.mjs'

await whenProgram(import.meta, () => {
  requireNode()
  installMissing(ROOT)
  process.exitCode = check()
})
