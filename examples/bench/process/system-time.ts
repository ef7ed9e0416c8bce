/** A time that all processes of a machine share, in milliseconds, with a higher resolution than `Date.now()`. */
export const systemTime = (): number => performance.timeOrigin + performance.now()
