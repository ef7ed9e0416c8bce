/** The style sheet of a report: light and dark, paper, desktops and phones. */

export const STYLE = `:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c1e21; --muted: #5c6370; --grid: #d9dce1; --panel: #f5f6f8; --link: #0b57d0;
  --series-0: #0072b2; --series-1: #d55e00; --series-2: #009e73; --series-3: #b2589a; --series-4: #a67c00;
  --series-5: #7a7f87; --series-6: #5b4db7; --series-7: #3f8fc4; --series-8: #8c3b2a; --series-9: #3a7d0a;
  --series-10: #c2185b; --series-11: #00838f; --series-12: #6d4c41; --series-13: #3949ab;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --ink: #e8eaed; --muted: #a3a9b3; --grid: #3a3f47; --panel: #1f2226; --link: #8ab4f8;
    --series-0: #4db0e6; --series-1: #ff8b3d; --series-2: #35c79a; --series-3: #e08cc5; --series-4: #e0b93a;
    --series-5: #a9adb4; --series-6: #a99cf5; --series-7: #8fc8f0; --series-8: #d9806c; --series-9: #86c95a;
    --series-10: #ff7aa8; --series-11: #4dd0e1; --series-12: #c8a690; --series-13: #8c9eff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 16px; }
h1 { margin: 8px 0; font-size: 28px; }
h2 { margin: 36px 0 8px; font-size: 20px; line-height: 1.3; }
h2.part { margin-top: 56px; padding-top: 16px; border-top: 1px solid var(--grid); font-size: 24px; }
h3 { margin: 32px 0 8px; font-size: 17px; line-height: 1.3; }
a { color: var(--link); }
ul { padding-left: 20px; }
.command { padding: 12px; background: var(--panel); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.conditions, footer, section > ul { color: var(--muted); font-size: 14px; }
.verdict { font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 24px; }
figure { margin: 0; min-width: 0; }
figure > svg { font: 11px system-ui, sans-serif; fill: var(--ink); display: block; width: 100%; max-width: 560px; height: auto; }
.quiet { fill: var(--muted); }
figcaption { color: var(--muted); font-size: 14px; min-height: 3em; }
figcaption b { display: block; color: var(--ink); font-size: 15px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 4px 0; padding: 0; list-style: none; font-size: 13px; }
.key { margin-right: 6px; vertical-align: middle; }
.table { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th:first-child { padding-left: 0; text-align: left; }
thead th { color: var(--muted); font-weight: 500; }
tbody th { font-weight: 500; white-space: pre; }
.summary { font-size: 14px; }
summary { cursor: pointer; font-size: 14px; }
details { margin: 12px 0; }
footer { margin: 40px 0 16px; }
@media print { details::details-content { content-visibility: visible; } section { break-inside: avoid; } }
`
