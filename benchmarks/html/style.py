"""The style sheet, light and dark. Nothing in it is fetched."""

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--card:#f7f8fa;--ink:#1d2430;--soft:#566072;--grid:#c9cfd8;--ours:#2f6fb2;
--other:#aab3c0;--line-1:#b3541e;--line-2:#3b7d3a;--line-3:#1f5fa8;--line-4:#7b3fa0;--line-5:#5a6270;--gain:#2f6fb2;
--loss:#c8641e;--mark:200,100,30}
@media (prefers-color-scheme:dark){:root{--paper:#14181f;--card:#1c222c;--ink:#e6e9ef;--soft:#a3adbd;--grid:#465063;
--ours:#5b9be0;--other:#5f6b7d;--line-1:#f0955c;--line-2:#7cc57a;--line-3:#6fb0f5;--line-4:#c793ea;--line-5:#b4bdcb;
--gain:#5b9be0;--loss:#f0955c;--mark:240,149,92}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:1.5rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC",sans-serif}
a{color:inherit;text-decoration-thickness:1px;text-underline-offset:2px}
h1{margin:0 0 .3rem}h2{margin:2.5rem 0 .3rem;padding-top:.6rem;border-top:2px solid var(--grid)}
h3{margin:1rem 0 .2rem}h4{margin:1rem 0 .2rem}
p,footer,caption,small{color:var(--soft)}p{margin:.2rem 0 .8rem;max-width:80ch}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;padding:0;list-style:none}
.card{margin:1rem 0;padding:.4rem 1rem 1rem;border-radius:8px;background:var(--card)}.card h3{margin-top:.4rem}
.pair{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}
figure{margin:.5rem 0}figcaption{font-size:.85rem;font-weight:600}svg{max-width:100%;height:auto}
summary{cursor:pointer;margin:.4rem 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
caption{text-align:left;padding:.2rem 0}
th,td{padding:.2rem .55rem;border-bottom:1px solid var(--grid);text-align:right;white-space:nowrap}
th:first-child{text-align:left}tbody th{font-weight:400}tr.ours th,tr.ours td{font-weight:700}
.matrix td{text-align:center;border:1px solid var(--grid);background:rgba(var(--mark),calc(var(--share,0)*.6))}
.matrix td a{font-weight:700;display:block}
.turned{vertical-align:bottom;padding:.3rem .2rem}.turned span{writing-mode:vertical-rl;transform:rotate(180deg)}
.cases{columns:26rem;column-gap:2rem;margin-top:1rem}.cell{break-inside:avoid}.cell h4{margin:.4rem 0}
.case{margin:.3rem 0 .8rem;padding-left:.8rem;border-left:3px solid var(--grid);font-size:.9rem}
.case dt{font-weight:700}.case dd{margin:0}:target{outline:3px solid rgb(var(--mark));outline-offset:4px}
.missing{font-style:italic}
"""
