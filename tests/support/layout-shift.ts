/**
 * A script for pages in a browser: adds up in `window.shift` how far elements move by themselves, and lists these
 * elements in `window.moved`.
 */
export const WATCH_SHIFTS = `window.shift = 0
window.moved = []
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue
    window.shift += value
    for (const { node } of sources) window.moved.push(node?.outerHTML?.slice(0, 80) ?? node?.textContent)
  }
}).observe({ type: 'layout-shift', buffered: true })`
