/** Current and past problems. */

/** Current and past problems. */
export interface AlertsView {
  readonly alerts: readonly AlertView[]
  /** Past problems, the latest first. */
  readonly past: readonly PastAlertView[]
}

/** A current problem. */
export interface AlertView {
  /** Identifies the problem. */
  readonly key: string
  readonly kind: 'silent' | 'engine' | 'lag' | 'dead' | 'errors' | 'outbox'
  /** The problem in a few words. */
  readonly title: string
  /** Details of the problem. */
  readonly detail: string
  /** Advice on what to do. */
  readonly advice: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** The screen and path that show more about the problem. */
  readonly place: readonly string[]
}

/** A past problem. */
export interface PastAlertView extends AlertView {
  readonly until: number
}
