import * as ts from 'typescript';

const TOLD = ['title', 'alt', 'label', 'placeholder', 'aria-label', 'aria-valuetext', 'what'];
/** Names, which are the same in every language. */
const NAMES = ['RECLAIM'];

/** The texts that a value can come to be made of, without what a function makes of its own. */
function texts(node: ts.Node | undefined): string[] {
  if (node === undefined) {
    return [];
  }
  if (ts.isStringLiteralLike(node) || ts.isJsxText(node)) {
    return [node.text];
  }
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.flatMap(span => [span.literal.text, ...texts(span.expression)])];
  }
  if (ts.isConditionalExpression(node)) {
    return [...texts(node.whenTrue), ...texts(node.whenFalse)];
  }
  if (ts.isBinaryExpression(node)) {
    const kind = node.operatorToken.kind;
    const both = [ts.SyntaxKind.PlusToken, ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken];
    const right = [...both, ts.SyntaxKind.AmpersandAmpersandToken].includes(kind) ? texts(node.right) : [];
    return both.includes(kind) ? [...texts(node.left), ...right] : right;
  }
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isJsxExpression(node)) {
    return texts(node.expression);
  }
  return [];
}

/** What a file of components shows that the translator has never seen. */
function untranslated(name: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const shown =
      ts.isJsxText(node) || (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent))
        ? texts(node)
        : ts.isJsxAttribute(node) && TOLD.includes(node.name.getText())
          ? texts(node.initializer)
          : [];
    found.push(...shown.filter(one => /[A-Za-z]{2}/.test(one) && !NAMES.includes(one.trim())));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX));
  return found;
}

const files = ts.sys.readDirectory('src', ['.tsx']);

test('there are components to look at', () => {
  expect(files.length).toBeGreaterThan(20);
});

test.each(files)('%s shows nothing that cannot be translated', name => {
  expect(untranslated(name, ts.sys.readFile(name) ?? '')).toEqual([]);
});

test('words are found wherever they are shown', () => {
  const source = `
    const a = <p title={\`read \${n} of it\`}>{busy ? 'wait' : trans.__('ready')} and then</p>;
    const b = <i className="jp-mod-dim" aria-label={kind === 'gold' ? trans.__('gold') : name}>{rows.map(one => one.id)}</i>;
    const c = <Bar text={name ?? 'nobody'}>{name ?? 'nobody'}</Bar>;`;
  expect(untranslated('x.tsx', source).map(one => one.trim())).toEqual(['read', 'of it', 'wait', 'and then', 'nobody']);
});
