/** The simulated machine: one disk, one network, one clock on the wall, and the processes that use them. */
import type { World } from '../../../world/index.ts'
import { chanceOf } from '../chance.ts'
import { SimDisk } from './disk.ts'
import { simClock, type Wall } from './sim-clock.ts'
import { type Outside, SimNet } from './sim-net.ts'
import type { DiskTrouble } from './trouble.ts'
import { type Owner, Turns } from './turns.ts'

export class Machine {
  readonly turns: Turns
  readonly disk: SimDisk
  readonly net: SimNet
  readonly wall: Wall = { offsetMs: 0 }
  readonly #seed: number

  constructor(seed: number, troubles: readonly DiskTrouble[]) {
    this.#seed = seed
    this.turns = new Turns(chanceOf(seed, 'turns'))
    const sectorBytes = chanceOf(seed, 'sectors').pick([512, 4096])
    this.disk = new SimDisk(this.turns, chanceOf(seed, 'disk'), troubles, { sectorBytes })
    this.net = new SimNet(this.turns, chanceOf(seed, 'network'), chanceOf(seed, 'breaks'))
  }

  /** What a process sees of the machine, and of the world outside. */
  worldOf(owner: Owner, outside: Outside): World {
    const random = chanceOf(this.#seed, `random of ${owner.life}`)
    return {
      clock: simClock(this.turns, this.wall, owner),
      random: { bytes: (count) => random.bytes(count) },
      files: this.disk.filesOf(owner),
      net: this.net.netOf(owner, outside),
      processes: {
        pid: 1000 + owner.life,
        platform: 'linux',
        usage: () => ({ memoryBytes: 0, cpuMicros: 0 }),
        spawn: () => Promise.reject(new Error('a simulated process starts no others')),
        terminal: async () => null,
      },
      threads: { spare: 0 },
    }
  }

  /** From now on nothing goes wrong. */
  calm(): void {
    this.disk.calm()
    this.net.calm()
  }

  /** Its steps are taken no more, its files and connections are closed, and without power the disk keeps what it promised. */
  end(owner: Owner, how: 'kill' | 'power'): void {
    this.turns.bury(owner)
    this.disk.crash(how, owner)
    this.net.crash(owner)
  }

  /** What a process has not let go, by kind and name. */
  heldBy(owner: Owner): Readonly<Record<'files' | 'locks' | 'steps' | 'connections' | 'listening', readonly string[]>> {
    const { connections, listening } = this.net.heldBy(owner)
    return {
      ...this.disk.heldBy(owner),
      steps: this.turns.waiting(owner),
      connections: Array.from({ length: connections }, () => 'connection'),
      listening: listening ? ['port'] : [],
    }
  }
}
