/** The screens of the page, in the order of their links. A new screen needs a file in this folder and a line here. */
import { alerts } from './alerts.tsx'
import { events } from './events.tsx'
import { map } from './map.tsx'
import { programs } from './programs.tsx'
import type { Screen } from './screen.ts'
import { services } from './services.tsx'
import { traces } from './traces.tsx'

export const SCREENS: readonly Screen[] = [services, programs, map, traces, events, alerts]
