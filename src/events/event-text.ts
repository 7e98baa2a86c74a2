/**
 * The canonical text of an event as it is signed. Who meters a journal needs its length, and the writer behind needs the text
 * itself: where somebody keeps it, it is made once for both, and what was metered is what is written.
 */
import { assert, fits } from '../core/index.ts'
import { type Event, eventShape } from './catalogue.ts'

const kept = new WeakMap<Event, string>()

/** A Bug when the event is none of the catalogue, or holds what cannot be read back. */
export function eventText(event: Event): string {
  return kept.get(event) ?? made(event)
}

/** As `eventText`. The text is kept as long as the event, which must not change from here on. */
export function keepEventText(event: Event): string {
  const text = eventText(event)
  kept.set(event, text)
  return text
}

function made(event: Event): string {
  assert(fits<Event>(eventShape, event), `an event that is written is one of the catalogue (${event.kind})`)
  return eventShape.write(event)
}
