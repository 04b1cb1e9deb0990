import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.calcite.config.Lex;
import org.apache.calcite.sql.SqlCall;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.SqlNodeList;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/** Asks Flink's own parser. A line of standard input is a statement, or with -x an expression; see README.md. */
public class FlinkParse {
    public static void main(String[] args) throws Exception {
        boolean expressions = args.length > 0 && args[0].equals("-x");
        SqlParser.Config config = SqlParser.config()
                .withParserFactory(FlinkSqlParserImpl.FACTORY)
                .withConformance(FlinkSqlConformance.DEFAULT)
                .withLex(Lex.JAVA)
                .withIdentifierMaxLength(256);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                SqlParser parser = SqlParser.create(line, config);
                answer = expressions ? tree(parser.parseExpression()) : parser.parseStmt() == null ? "no" : "yes";
            } catch (Exception e) {
                answer = "no";
            }
            out.println(line + "\t" + answer);
        }
    }

    private static String tree(SqlNode n) {
        StringBuilder b = new StringBuilder();
        if (n instanceof SqlNodeList) {
            for (SqlNode x : (SqlNodeList) n) {
                b.append(b.length() == 0 ? "" : " ").append(tree(x));
            }
            return "[" + b + "]";
        }
        if (n instanceof SqlCall) {
            b.append(((SqlCall) n).getOperator().getName());
            for (SqlNode x : ((SqlCall) n).getOperandList()) {
                b.append(' ').append(tree(x));
            }
            return "(" + b + ")";
        }
        return String.valueOf(n);
    }
}
