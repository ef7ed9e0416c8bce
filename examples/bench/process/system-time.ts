/** The time that all processes of a machine have in common, in milliseconds, finer than `Date.now()`. */
export const systemTime = (): number => performance.timeOrigin + performance.now()
