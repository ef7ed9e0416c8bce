/**
 * Why an engine cannot deliver an event again after a pause: by then it has deleted the event, which it keeps for a
 * certain time, handled or not. `undefined`: it can.
 * @param storedAt milliseconds since 1970 @param maxAge milliseconds for which events are kept; 0: for ever
 * @param now milliseconds since 1970
 */
export function whyTooOld(
  storedAt: number,
  maxAge: number,
  delay: number,
  now = Date.now()
): string | undefined {
  if (maxAge === 0 || !(storedAt + maxAge <= now + delay)) return undefined
  return `it was to run again in ${Math.round(delay)} ms, and its store keeps it no longer (maxAge: ${maxAge} ms)`
}
