/** For pages in a browser: adds up in `window.shift` how far things move by themselves, and in `window.moved` which ones. */
export const WATCH_SHIFTS = `window.shift = 0
window.moved = []
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue
    window.shift += value
    for (const { node } of sources) window.moved.push(node?.outerHTML?.slice(0, 80) ?? node?.textContent)
  }
}).observe({ type: 'layout-shift', buffered: true })`
