/** The real World with a clock whose hands a test can push forward. Timers run as ever: only readings move. */
import { instantOf, timestampOf } from '../../src/core/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'

export interface TestWorld extends World {
  advance(ms: number): void
}

export function testWorld(): TestWorld {
  const world = nodeWorld()
  let ahead = 0
  return {
    ...world,
    clock: {
      ...world.clock,
      monotonicMs: () => world.clock.monotonicMs() + ahead,
      wall: () => timestampOf(Number(instantOf(world.clock.wall()) / 1000n) + ahead * 1000),
    },
    advance: (ms) => {
      ahead += ms
    },
  }
}
