/** Does one thing to real files in a folder, so that others can see what the system was asked. Says that it is done. */
import { join } from 'node:path'
import { nodeWorld } from '../../src/world/index.ts'

const [what, folder = ''] = process.argv.slice(2)
const { files } = nodeWorld()
const bytes = Buffer.from('line\n')

switch (what) {
  case 'data': {
    await using file = await files.create(join(folder, 'plain'), 0o600)
    await file?.append(bytes)
    await file?.syncData()
    break
  }
  case 'opened': {
    await using file = await files.open(join(folder, 'old'), 'append')
    await file?.syncData() // what somebody else wrote is made durable too
    await file?.append(bytes)
    await file?.syncData()
    break
  }
  case 'synced': {
    await using file = await files.create(join(folder, 'synced'), 0o600, 'synced')
    await file?.append(bytes)
    await file?.syncData()
    break
  }
  case 'all': {
    await using file = await files.create(join(folder, 'plain'), 0o600)
    await file?.append(bytes)
    await file?.syncAll()
    break
  }
  case 'synced, all': {
    await using file = await files.create(join(folder, 'synced'), 0o600, 'synced')
    await file?.append(bytes)
    await file?.syncAll()
    break
  }
  case 'directory':
    await files.syncDirectory(folder)
    break
  default:
    throw new Error(`nobody knows ${what}`)
}
process.stdout.write('done\n')
