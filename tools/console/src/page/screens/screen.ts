/** The interface of a screen: a part of the page at the address `#/<id>` that shows the server's updates. */
import type { ComponentType } from 'preact'
import type { Overview } from '../../protocol.ts'
import type { Shown } from '../updates.ts'

/** The properties of every screen, which change with each update. */
export interface ScreenProps {
  /** All data that the server has sent. */
  readonly shown: Shown
  readonly overview: Overview
  /** The parts of the address after the screen's id, such as a service's id: `#/services/orders` is `['orders']`. */
  readonly path: readonly string[]
}

/** A screen of the page. */
export interface Screen {
  /** The screen's id in the address. */
  readonly id: string
  /** The screen's name in the navigation. */
  readonly title: string
  readonly View: ComponentType<ScreenProps>
  /** Whether there is anything to show; missing: always. */
  readonly isShown?: (shown: Shown) => boolean
  /** A number beside the screen's name, such as the number of alerts; hidden if it is 0. */
  readonly count?: (shown: Shown) => number
}
