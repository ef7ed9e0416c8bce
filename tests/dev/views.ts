/** Finds faults in a view of the page that a program can see. */

/** Finds elements that are wider than the page, and texts that are cut off. */
export const CUT = `[
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page is ' + document.documentElement.scrollWidth + ' wide'] : []),
  ...[...document.querySelectorAll('#page *')].filter((each) =>
    each.tagName !== 'LEGEND' && getComputedStyle(each).overflowX === 'hidden' && each.scrollWidth > each.clientWidth + 1 && each.textContent !== ''
  ).map((each) => each.tagName + '.' + each.className + ': ' + each.textContent.slice(0, 60))
]`
