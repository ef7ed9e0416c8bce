/** A screen of the page: a place of its own at `#/<id>`, that shows the server's updates. */
import type { ComponentType } from 'preact'
import type { Overview } from '../../protocol.ts'
import type { Shown } from '../updates.ts'

/** The properties of every screen, which change with each update. */
export interface ScreenProps {
  /** All that the server has told. */
  readonly shown: Shown
  readonly overview: Overview
  /** The parts of the address behind the screen's id, such as a service's id: `#/services/orders` is `['orders']`. */
  readonly path: readonly string[]
}

/** One screen. */
export interface Screen {
  /** Its place in the address. */
  readonly id: string
  /** Its name in the navigation. */
  readonly title: string
  readonly View: ComponentType<ScreenProps>
  /** A number beside its name, such as of alerts; none if it is 0. */
  readonly count?: (shown: Shown) => number
}
